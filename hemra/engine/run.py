"""Carrying out a run: start, resume. One engine is one process with one loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eventlog import clock
from eventlog.errors import LogError, RecorderUnavailable
from eventlog.schemas.conversation import NoteRecorded
from eventlog.schemas.runs import RunCancelled, RunFinished, RunResumed, RunStarted
from hemra.engine import check
from hemra.engine.begin import SOURCE, begin
from hemra.engine.context import Job, LogLost, RunContext, lost_reason
from hemra.engine.ending import attempt
from hemra.engine.host import boot_id, describe_host, describe_program
from hemra.engine.leave import leave
from hemra.engine.lock import EngineLock
from hemra.engine.materials import Materials, of_plan, reload, version_changes
from hemra.engine.progress import Guarded, Progress
from hemra.engine.retry import retry_unmeasured, told
from hemra.engine.schedule import Schedule, TryEnd
from hemra.engine.served import open_gateway
from hemra.engine.state import RunState, TrialState, load
from hemra.engine.stop import Interrupts, Stop
from hemra.errors import HemraError, Interrupted, NotFound, UsageError
from hemra.sandboxes.scratch import scratch_parent

if TYPE_CHECKING:
    from eventlog.client import Client
    from eventlog.store import Store
    from hemra.engine.plan import Plan


#: So often, and within so many seconds, a recorder that does not come up is started.
CONNECT_TRIES = 5
CONNECT_SECONDS = 30.0


@dataclass(frozen=True)
class RunResult:
    """How a run stands when its engine ends.

    `outcomes` counts every planned trial; `unscored` are those whose scorer's word does not count, `errors` those of
    them that ended without a measurement: `resume` with `retry_errors` runs them again.
    `cancelled`: it did not come to its end; `reason` says why in one line, and `signal` is the number of
    the signal if it was one.
    """

    run: str
    outcomes: dict[str, int]
    unscored: int
    cancelled: bool = False
    reason: str | None = None
    signal: int | None = None
    errors: int = 0

    @property
    def exit_code(self) -> int:
        """0 all scored, 3 some not, 128 + signal when interrupted, 1 when it stopped by itself."""
        if self.cancelled:
            return 128 + self.signal if self.signal else 1
        return 3 if self.unscored else 0


def start(store: Store, plan: Plan, progress: Progress) -> RunResult:
    """Carry out a plan as a new run (blocking). SIGINT and SIGTERM end it in order, twice at once.

    Raises HemraError when it cannot begin or when the log cannot be written any more; what is recorded
    by then stays, and `resume` goes on from it.
    """
    run = begin(store, plan)
    with _locked(store, run):
        return _engine(store, load(store, run), of_plan(plan), plan.request.jobs, progress)


def resume(
    store: Store, run: str, progress: Progress, jobs: int | None = None, *, retry_errors: bool = False
) -> RunResult:
    """Go on with a run from its events alone (blocking), as `start` does with a new one.

    Trials with a final state stay, but with `retry_errors` those that ended without a measurement are run again, in a
    finished run too. Raises NotFound; HemraError when tasks or harnesses are not those of the plan, or when another
    engine carries the run out.
    """
    if run not in store.streams():
        raise NotFound(f"no run {run}; `hemra runs` lists them")
    if jobs is not None and (problems := check.jobs(jobs)):
        raise UsageError("; ".join(problems))
    with _locked(store, run):
        state = load(store, run)
        retried = retry_unmeasured(state) if retry_errors else []
        if state.finished and not retried:
            _finish_stream(store, run)
            nothing = f"run {run} is finished; there is nothing to resume"
            progress.note(told(state, []) if retry_errors else nothing)
            return _result(state, Stop())
        materials = reload(store, state)
        problems = check.disk_space([store.path, scratch_parent()])
        if problems:
            raise HemraError("; ".join(problems))
        notes = version_changes(state.plan, materials)
        if retry_errors:
            progress.note(told(state, retried))
        return _engine(store, state, materials, jobs or state.plan.jobs, progress, notes, retried)


@contextlib.contextmanager
def _locked(store: Store, run: str) -> Iterator[None]:
    lock = EngineLock(store.stream_path(run), run)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _finish_stream(store: Store, run: str) -> None:
    """A run whose engine died after its last event still has to be sealed."""
    from eventlog.client import Client
    from eventlog.reader import stream_state

    if stream_state(store, run).finished:
        return
    with Client.connect(store, run, source=SOURCE) as client:
        client.finish()


def _result(state: RunState, stop: Stop) -> RunResult:
    unscored = len(state.trials) - state.scored()
    cancelled = bool(state.remaining())
    return RunResult(
        state.plan.run, state.outcomes(), unscored, cancelled, stop.reason, stop.signal, len(state.unmeasured())
    )  # fmt: skip


def _engine(
    store: Store,
    state: RunState,
    materials: Materials,
    jobs: int,
    progress: Progress,
    notes: Sequence[tuple[str, str]] = (),
    retried: Sequence[TrialState] = (),
) -> RunResult:
    guarded = Guarded(progress)
    try:
        return _Engine(store, state, materials, jobs, guarded, notes, retried).carry_out()
    finally:
        guarded.close()


class _Engine:
    """One engine's work on a run: from its first event to its last."""

    def __init__(
        self,
        store: Store,
        state: RunState,
        materials: Materials,
        jobs: int,
        progress: Guarded,
        notes: Sequence[tuple[str, str]],
        retried: Sequence[TrialState],
    ) -> None:
        self._store = store
        self._state = state
        self._materials = materials
        self._jobs = jobs
        self._width = max(1, min(jobs, len(state.remaining()), check.MOST_JOBS))
        self._progress = progress
        self._notes, self._retried = notes, [trial.trial for trial in retried]
        self._stop = Stop()
        self._interrupts = Interrupts(self._stop, progress.note, state.plan.run)
        self._began = clock.mono_ns()

    def carry_out(self) -> RunResult:
        """Run what remains. HemraError when the log cannot be written or our own code fails."""
        from hemra.sandboxes.reclaim import reclaim, reclaim_all

        with self._interrupts:
            if self._state.started:
                reclaim(self._state.plan.run, scratch_parent())
            # What other engines left that were killed or stopped at once, and that nobody may ever resume.
            for text in reclaim_all(scratch_parent()).problems:
                self._progress.note(f"left by an earlier run: {text}")
            self._reclaim_sandboxes()
            asyncio.run(self._with_workers())
            return self._answer()

    def _reclaim_sandboxes(self) -> None:
        """What is left in sandboxes that outlive their engine, such as containers. It keeps no run from starting."""
        from hemra.sandboxes.registry import reclaim

        kinds = [self._state.plan.sandbox, *self._materials.sandboxes.values()]
        try:
            for text in reclaim(kinds, self._store.id):
                self._progress.note(f"left by an earlier run: {text}")
        except HemraError as error:
            self._progress.note(f"left by an earlier run: {error}")

    async def _with_workers(self) -> None:
        plan = self._state.plan
        with ThreadPoolExecutor(2 * self._width + 4, thread_name_prefix="engine") as workers:
            async with open_gateway(self._store, plan, self._materials.harnesses) as gateway:
                client = await asyncio.get_running_loop().run_in_executor(workers, self._connect)
                context = RunContext(
                    store=self._store, run=plan.run, client=client, progress=self._progress,
                    stop=self._stop, sandbox=plan.sandbox, root=scratch_parent(),
                    workers=workers, loop=asyncio.get_running_loop(), gateway=gateway, network=plan.network,
                    redactors=self._materials.redactors(gateway.keys() if gateway else {}),
                )  # fmt: skip
                await self._carry_out_in(context)

    async def _carry_out_in(self, context: RunContext) -> None:
        """All trials, and the run's last event whatever becomes of them."""
        self._interrupts.attach(context.kill_now)
        self._progress.run_planned(self._state.plan.run, len(self._state.remaining()))
        try:
            await self._trials(context)
        finally:
            for trial, finished in context.finished.items():
                self._state.trials[trial].end(finished)
            await context.in_thread(self._close, context.client, context.unreachable is None)
            self._interrupts.detach()

    def _connect(self) -> Client:
        """A client of the run's recorder. One that dies while it starts is started again a few times."""
        from eventlog.client import Client

        run, began, tries = self._state.plan.run, time.monotonic(), 0
        while True:
            tries += 1
            try:
                return Client.connect(self._store, run, source=SOURCE)
            except LogError as error:
                again = isinstance(error, RecorderUnavailable) and tries < CONNECT_TRIES
                if self._stop.wanted.is_set() or not again or time.monotonic() - began > CONNECT_SECONDS:
                    raise HemraError(f"the recorder of run {run} does not start: {error}") from error

    async def _trials(self, context: RunContext) -> None:
        remaining = self._state.remaining()
        try:
            await self._announce(context, remaining)
        except LogLost:
            return
        schedule = Schedule[Job](
            self._stop,
            lambda job, try_no, repeated, may_repeat: self._attempt(
                context, job, try_no, repeated, may_repeat
            ),
            harness=lambda job: job.harness.name,
            width=self._width,
            retries=self._state.plan.retries,
        )
        await schedule.run(
            (self._materials.job(self._state.plan, trial), trial.tries, trial.retries) for trial in remaining
        )

    async def _announce(self, context: RunContext, remaining: list[TrialState]) -> None:
        log = context.log(None)
        for trial, queued in self._state.missing:
            context.log(trial).emit(queued)
        here: dict[str, Any] = {
            "pid": os.getpid(), "boot": boot_id(), "jobs": self._jobs,
            "host": describe_host(), "hemra": describe_program(),
        }  # fmt: skip
        if self._state.started:
            await log.append(
                RunResumed(
                    **here, finished=len(self._state.trials) - len(remaining), remaining=len(remaining),
                    interrupted=self._state.interrupted(), retried=self._retried,
                )
            )  # fmt: skip
        else:
            await log.append(RunStarted(**here))
        for code, text in self._notes:
            log.emit(NoteRecorded(level="warning", code=code, text=text))
            self._progress.note(text)

    async def _attempt(
        self, context: RunContext, job: Job, try_no: int, repeated: int, may_repeat: bool
    ) -> TryEnd:
        """One try, unless the disk is all but full: there would be no room to write its end down."""
        if check.all_but_full(self._store.path):
            reason = f"less than {check.RESERVE / 1e6:.0f} MB are free for {self._store.path}"
            self._stop.request(reason, end_running=True, failure=HemraError(reason))
            return TryEnd("not_started", reason, final=True)
        try:
            return await attempt(context, job, try_no, repeated, may_repeat)
        except Exception as error:  # noqa: BLE001 - a fault in recording an end: no other trial may suffer
            self._stop.request(f"internal error: {error!r}", end_running=True, failure=error)
            return TryEnd("infra_error", str(error), final=True)

    def _close(self, client: Client, reachable: bool) -> None:
        """Write the run's last event and let the recorder go; a log that is lost already changes nothing."""
        try:
            if not reachable:
                client.close()
                return
            if self._progress.failure is not None:
                text = f"progress could not be shown: {self._progress.failure}"
                client.emit(NoteRecorded(level="warning", code="watcher_failed", text=text))
            if remaining := len(self._state.remaining()):
                reason = self._stop.reason or "the engine ended"
                finished = len(self._state.trials) - remaining
                client.append(RunCancelled(reason=reason, finished=finished, remaining=remaining))
                leave(client)
            else:
                client.append(self._finished())
                client.finish()
                client.close()
        except (LogError, OSError) as error:
            self._stop.request(lost_reason(self._store, error), end_running=True, failure=error)
            with contextlib.suppress(LogError, OSError):
                client.close()

    def _finished(self) -> RunFinished:
        state = self._state
        return RunFinished(
            trials=len(state.trials), scored=state.scored(), outcomes=state.outcomes(),
            # What an earlier engine took is in its own events; two boots cannot be added up.
            duration_ns=None if state.started else max(0, clock.mono_ns() - self._began),
        )  # fmt: skip

    def _answer(self) -> RunResult:
        stop, run = self._stop, self._state.plan.run
        remaining = len(self._state.remaining())
        if not self._store.stream_path(run).is_dir():
            text = (
                f"run {run} stopped: its store {self._store.path} is gone, and with it all that was recorded"
            )
            raise _stopped(text, stop) from stop.failure
        if stop.failure is None and not remaining:
            return _result(self._state, stop)
        done = (
            f"{len(self._state.trials) - remaining} of {len(self._state.trials)} trials are finished and kept"
        )
        if stop.failure is not None:
            why = stop.reason or ""
            if str(stop.failure) not in why and stop.signal:  # a person stopped what could not go on anyway
                why = f"{why}, and {stop.failure}"
            text = f"run {run} stopped: {why}. {done}; go on with `hemra resume {run}`"
            raise _stopped(text, stop) from stop.failure
        self._progress.note(f"run {run} stopped: {done}")
        return _result(self._state, stop)


def _stopped(text: str, stop: Stop) -> HemraError:
    """The error that ends a run which could not be carried out; a signal that came meanwhile decides the code."""
    if not stop.signal:
        return HemraError(text)
    error = Interrupted(text)
    error.exit_code = 128 + stop.signal
    return error
