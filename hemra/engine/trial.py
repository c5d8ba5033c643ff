"""One try of one trial, from an empty folder to a scored workspace that is gone again.

    create -> prepare -> run -> stop -> store -> score -> destroy

Whatever fails, what was created is stopped and destroyed, and the try has facts from which `ending`
makes an outcome. Only a log that takes no more (LogLost) and cancellation leave here as exceptions.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from eventlog.schemas.conversation import ArtifactStored, NoteRecorded, ScoreRecorded
from eventlog.schemas.trials import Enforcement, SandboxDestroyed, TrialStarted
from harnesses.errors import HarnessError
from hemra.engine.artifacts import store_changes, store_files
from hemra.engine.conduct import Conduct
from hemra.engine.context import Job, LogLost, RunContext
from hemra.engine.harness_run import HarnessRun
from hemra.engine.judge import ask_scorer
from hemra.engine.mcp import names_of, servers_of
from hemra.engine.outcome import OUTCOMES, Facts, Verdict, decide
from hemra.engine.phases import Phases, one_line
from hemra.engine.place import created, spec_of
from hemra.engine.served import Served
from hemra.engine.unheld import unheld
from hemra.errors import HemraError
from hemra.sandboxes.base import Endpoint, SandboxError, Snapshot
from hemra.sandboxes.registry import open_sandbox
from hemra.sandboxes.verdicts import allowed
from hemra.scoring.contract import VERIFIER_ERROR, Score
from hemra.services.attendants import Attendants

if TYPE_CHECKING:
    from eventlog.schemas.base import EventData
    from eventlog.schemas.trials import Usage
    from harnesses.base import Conclusion, Launch
    from hemra.datasets.prepare import Prepared
    from hemra.sandboxes.base import ExecResult, Sandbox

#: The name of what a task's verifier gives.
REWARD = "reward"
_DETAIL_CHARS = 8000


class Try:
    """Try `try_no` of a job: `carry_out` once, then read the facts."""

    def __init__(self, context: RunContext, job: Job, try_no: int) -> None:
        self.context = context
        self.job = job
        self.try_no = try_no
        self.log = context.log(job.trial, job.harness.name)
        self.phases = Phases(self.log, try_no)
        self.flags: list[str] = []
        self.cancelled: str | None = None
        self.broke: str | None = None
        self.unready: str | None = None
        self.score: Score | None = None
        self._sandbox: Sandbox | None = None
        self._harness: HarnessRun | None = None
        self._before: Snapshot = {}
        self._enforcement: dict[str, Enforcement] = {}
        self._attendants = Attendants(job.task, job.seed)
        self._served = served = Served(context.gateway, job)
        self._conduct = Conduct(
            job.task, job.limits, names_of(job.task, job.harness), job.harness.traits.tool_names,
            counted=(lambda: served.turns) if served.tells_conversation else None,
        )  # fmt: skip
        #: Services of this trial alone that its programs may reach; to be filled before `carry_out`.
        self.reach: list[Endpoint] = []
        self._started_seq = 1

    def facts(self) -> Facts:
        """What is known of the try now."""
        result, said = self.result, self.conclusion
        stopped = result is None or result.limit is not None or self.cancelled is not None
        endpoint, endpoint_reason = self._served.endpoint(stopped=stopped)
        return Facts(
            cancelled=self.cancelled,
            broke=self.broke,
            unready=self.unready,
            lost=self.lost,
            unwatched=self._harness.unwatched if self._harness else None,
            limit=result.limit if result else None,
            endpoint=endpoint,
            endpoint_reason=endpoint_reason,
            refused=self._served.refused,
            served=self._served.sound,
            missed=self._served.missed,
            adapter=said.outcome if said else None,
            adapter_reason=said.reason if said else None,
            hung=result is not None and "hang_after_result" in result.flags,
            dismissed=result is not None and "stdin_close_ignored" in result.flags,
            exit_code=result.exit_code if result else None,
            exit_signal=result.exit_signal if result else None,
            recognised=said.recognised if said else 0,
            unrecognised=said.unrecognised if said else 0,
        )

    @property
    def result(self) -> ExecResult | None:
        """How the harness's process ended; null when it never started."""
        return self._harness.result if self._harness else None

    @property
    def conclusion(self) -> Conclusion | None:
        """What the adapter makes of what the harness said."""
        return self._harness.conclusion if self._harness else None

    @property
    def lost(self) -> str | None:
        """Why the sandbox went away under the harness."""
        return self._harness.lost if self._harness else None

    @property
    def usage(self) -> Usage | None:
        """What the try used; null where nobody told."""
        return self._served.usage(self.conclusion)

    @property
    def turns(self) -> int | None:
        """How many turns it took, by the gateway's count or its own word; null when nobody told any."""
        return self._conduct.turns

    def verdict(self) -> Verdict:
        """How the try ended, by the table."""
        return decide(self.facts())

    async def carry_out(self) -> None:
        """All phases. Raises LogLost, or what cancels the loop; nothing of the try runs on afterwards."""
        try:
            await self._carry_out()
        finally:
            if self._harness is not None:
                with contextlib.suppress(OSError):  # a full disk may refuse the closing of a file as well
                    self._harness.abandon()
            await self._served.close()
            if (sandbox := self._sandbox) is not None:
                self.context.open.pop(self.job.trial, None)
                # Only when the log was lost or the loop is ending: nobody can be told what fails here.
                with contextlib.suppress(Exception):
                    await sandbox.destroy()
            await self._attendants.close()

    async def _carry_out(self) -> None:
        try:
            launch = await self._set_up()
            if launch is not None:
                await self._run(launch)
        except LogLost:
            raise
        except Exception as error:  # noqa: BLE001 - one broken trial must not take the others with it
            self.broke = one_line(error)
            self._explain("trial_broke", error)
        if self._sandbox is None:
            return
        await self._step("stop", self._stop, "sandbox_not_stopped")
        if self._harness is not None and self.lost is None:
            await self._step("store", self._store, "artifacts_incomplete")
            if OUTCOMES[self.verdict().outcome].judged:
                await self._step("score", self._judge, "score_missing")
        await self._step("destroy", self._destroy, "sandbox_not_destroyed")

    async def _step(self, phase: str, step: Callable[[], Awaitable[None]], flag: str) -> None:
        """A phase after the harness: what fails in it is recorded and flagged, and changes no outcome."""
        try:
            with self.phases.phase(phase):
                await step()
        except LogLost:
            raise
        except Exception as error:  # noqa: BLE001 - the harness has done its work; its result is kept
            self.flags.append(flag)
            self._explain(flag, error)

    def _explain(self, code: str, error: Exception) -> None:
        """A note with what a developer needs; what was meant for users says enough by itself."""
        lines = traceback.format_exception(error)
        details = None if isinstance(error, HemraError | HarnessError) else "".join(lines)[-_DETAIL_CHARS:]
        self.phases.tell(NoteRecorded(level="error", code=code, text=one_line(error), details=details))

    # -- before the harness ------------------------------------------------------------------

    async def _set_up(self) -> Launch | None:
        """Make the sandbox and the workspace; None when the harness cannot or must not be started."""
        prepared: Prepared | None = None
        launch: Launch | None = None
        try:
            sandbox = await self._create()
            with self.phases.phase("prepare"):
                prepared, launch = await self._prepare(sandbox)
        except (HemraError, HarnessError, OSError) as error:
            if isinstance(error, SandboxError) and error.infra:
                self.broke = one_line(error)
            else:
                self.unready = one_line(error)
            self._explain("setup_failed", error)
        except Exception as error:  # noqa: BLE001 - a fault of ours; the trial still gets a start and an end
            self.broke = one_line(error)
            self._explain("trial_broke", error)
        await self._announce(prepared)
        if self.unready is None and self.broke is None and self.context.stop.running.is_set():
            self.cancelled = self.context.stop.reason
        return None if self.unready or self.broke or self.cancelled else launch

    async def _create(self) -> Sandbox:
        context, job = self.context, self.job
        ref = job.sandbox or context.sandbox
        reach = [*self.reach, *self._served.reach, *await self._attendants.open()]
        spec = await context.in_thread(spec_of, context, job, self.try_no, reach)
        with self.phases.others():
            verdicts = await context.shown.of(ref, spec.network)
        with self.phases.phase("create"):
            sandbox = open_sandbox(ref, spec)
            # From here on there is something to destroy, even if `create` fails half-way.
            self._sandbox = context.open[job.trial] = sandbox
            await sandbox.create()
        self._enforcement = allowed(sandbox.enforcement(), verdicts)
        for text in context.shown.problems:
            self.phases.tell(NoteRecorded(level="warning", code="sandbox_not_probed", text=text))
        self.phases.tell(created(sandbox, spec, self._enforcement))
        return sandbox

    async def _prepare(self, sandbox: Sandbox) -> tuple[Prepared, Launch]:
        from harnesses.base import TrialInput

        job, task = self.job, self.job.task
        prepared = await self._attendants.prepare(sandbox)
        solution = sandbox.inside(task.path / "solution") if job.harness.needs_solution else None
        launch = job.harness.launch(
            TrialInput(
                run=self.context.run, trial=job.trial, task=task.id, instruction=prepared.instruction,
                workspace=sandbox.inside(sandbox.workspace), home=sandbox.inside(sandbox.home),
                harness_dir=sandbox.inside(sandbox.harness_dir), seed=job.seed, attempt=job.attempt, limits=job.limits,
                allowed_tools=list(task.spec.allowed_tools), forbidden_tools=list(task.spec.forbidden_tools),
                solution_dir=solution, gateway=self._served.admit(sandbox, self._heard, self.log.redactor),
                model=job.harness.definition.get("model"), mcp_servers=self._attendants.mcp_servers,
            )
        )  # fmt: skip
        await self.context.in_thread(_write_files, sandbox.harness_dir, launch.files)
        for path, content in launch.home_files.items():
            await sandbox.put(f"{sandbox.inside(sandbox.home)}/{path}", content)
        self._before = await sandbox.snapshot()
        return prepared, launch

    def _heard(self, event: EventData) -> None:
        """An event of the trial's model calls: heard like the harness's own, and recorded."""
        self._conduct.take(event)
        self.log.emit(event)

    async def _announce(self, prepared: Prepared | None) -> None:
        """`trial.started` is on disk before anybody is told, and before the harness starts."""
        job = self.job
        quotas = self._sandbox is not None and self._sandbox.traits.holds_quotas
        why = unheld(job.task, job.harness, job.limits, self._enforcement, quotas=quotas)
        seq = await self.log.append(
            TrialStarted(
                try_no=self.try_no, harness=job.harness.name, task=job.task.id, attempt=job.attempt,
                seed=job.seed, instruction=prepared.instruction if prepared else "",
                values=prepared.values if prepared else {}, limits=job.limits,
                not_enforced=list(why), why_not_enforced=why, mcp_servers=servers_of(job.task, job.harness),
            )
        )  # fmt: skip
        self._started_seq = seq or 1
        self.phases.release()
        self.context.progress.trial_started(
            job.trial, harness=job.harness.name, task=job.task.id, attempt=job.attempt, try_no=self.try_no
        )

    # -- the harness -------------------------------------------------------------------------

    async def _run(self, launch: Launch) -> None:
        assert self._sandbox is not None
        harness = HarnessRun(
            self.job,
            self.try_no,
            self.log,
            self._sandbox,
            self.context.store.blobs,
            self._conduct,
            self._served,
        )
        self._harness = harness
        with self.phases.phase("run"):
            await harness.carry_out(launch, self._attendants.environment(), self.context.stop)
        self.cancelled = self.cancelled or harness.cancelled
        self.unready = self.unready or harness.unready
        self.flags += harness.flags

    # -- after the harness -------------------------------------------------------------------

    async def _stop(self) -> None:
        assert self._sandbox is not None
        if self._attendants.world_ended and self.result is not None:
            self.flags.append("world_ended")
        await self._sandbox.stop()
        await self._attendants.close()
        for note in self._attendants.notes():
            self.log.emit(note)

    async def _store(self) -> None:
        """Output and changed files become blobs. A full disk ends the run: nothing later could be kept."""
        assert self._sandbox is not None
        assert self._harness is not None
        try:
            after = await self._sandbox.snapshot()
            stored = await self.context.in_thread(self._store_blocking, self._sandbox, self._harness, after)
        except OSError as error:
            raise self.log.lost(error) from error
        for event in stored:
            self.log.emit(event)

    def _store_blocking(
        self, sandbox: Sandbox, harness: HarnessRun, after: Snapshot
    ) -> Iterable[ArtifactStored]:
        harness.store()
        blobs, redactor = self.context.store.blobs, self.log.redactor
        return [
            *store_files(harness.kept, "home", blobs, redactor),
            *store_changes(str(sandbox.workspace), self._before, blobs, redactor, after=after),
        ]

    async def _judge(self) -> None:
        """Ask the scorer, in a fresh process; a failure of ours to ask it is a VERIFIER_ERROR."""
        assert self._sandbox is not None
        try:
            self.score = await ask_scorer(
                self.context, self.job, self.log, self._sandbox.workspace,
                start=self._started_seq, outcome=self.verdict().outcome, also=[self._sandbox.home],
            )  # fmt: skip
        except LogLost:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no score
            self._explain("score_missing", error)
            self.score = Score(VERIFIER_ERROR, None, f"could not be asked: {one_line(error)}", None, 0)
        self.log.emit(
            ScoreRecorded(
                try_no=self.try_no, reward_name=REWARD, status=self.score.status, score=self.score.score,
                reason=self.score.reason, details=self.score.details,
                scorer_digest=self.job.task.scorer_digest, duration_ns=self.score.duration_ns,
            )
        )  # fmt: skip

    async def _destroy(self) -> None:
        assert self._sandbox is not None
        sandbox, self._sandbox = self._sandbox, None
        self.context.open.pop(self.job.trial, None)
        leftovers = self.result.leftover_processes if self.result else 0
        try:
            await sandbox.destroy()
        except (HemraError, OSError) as error:
            self.log.emit(
                SandboxDestroyed(try_no=self.try_no, leftover_processes=leftovers, error=one_line(error))
            )
            raise
        self.log.emit(SandboxDestroyed(try_no=self.try_no, leftover_processes=leftovers))


def _write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Put what an adapter gave for its harness into the harness's own folder."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
