"""One program of a trial in a container, from its start until nothing of it is left: output, limits, end, result."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import ExecResult, ExecSpec, OnOutput, OnSample, OnStart
from hemra.sandboxes.docker_meter import Meter, fired
from hemra.sandboxes.docker_stream import Output
from hemra.sandboxes.docker_words import Ending
from hemra.sandboxes.execution import SLOW_EXIT_NS
from hemra.sandboxes.output import OutputDelivery
from hemra.sandboxes.watchdogs import CLOSE_WATCH_SECONDS, watch_cpu, watch_wall, watch_workspace
from hemra.telemetry.sampler import SAMPLES_PER_SECOND

#: Between two samples where the engine has to be asked for them.
_ASKED_SECONDS = 1.0
#: A shell and the engine tell the end by a signal as an exit code above this.
_BY_SIGNAL = 128
#: How long a program may take to end once it was killed. Seconds.
_END_SECONDS = 30.0


class Running(Protocol):
    """A program that has started. See `hemra.sandboxes.docker_program`."""

    outputs: Mapping[str, Output]

    async def feed(self, data: bytes | None) -> bool:
        """Write stdin and end it. False when it was not read to the end."""

    async def ended(self) -> Ending:
        """When it is gone, and what it started. Raises SandboxError when the container went away."""

    async def terminate(self) -> None:
        """Ask it to end."""

    async def kill(self) -> None:
        """End it at once."""

    async def close(self) -> None:
        """Give its streams back."""


class NotStarted(Exception):
    """The program could not be started; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a program runs. `start` starts it and gives its pid in the container (NotStarted, SandboxError);
    `sample` asks the engine what the container uses, where its groups are out of sight."""

    limits: Limits
    folders: tuple[Path, ...]
    start: Callable[[], Awaitable[tuple[Running, int]]]
    meter: Callable[[], Meter]
    ask: Callable[[OnSample], Awaitable[None]]


class DockerExecution:
    """Carries out one ExecSpec. `killed` counts processes that had to be killed; `over` is set at the end."""

    def __init__(self, spec: ExecSpec, place: Place, on_output: OnOutput, on_sample: OnSample) -> None:
        self._spec = spec
        self._place = place
        self._on_sample = on_sample
        self._output = OutputDelivery(spec, on_output, self._fire, self._said_done)
        self._result = ExecResult()
        self._order = ""
        self._ordered = asyncio.Event()
        self._at_once = asyncio.Event()
        self._failure: Exception | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started_ns = 0
        self._seen = 0
        self.killed = 0
        self.over = asyncio.Event()

    async def run(self, on_start: OnStart) -> ExecResult:
        """To the very end. A first cancel ends the program in order, a second at once; it is raised then."""
        task = asyncio.ensure_future(self._carry_out(on_start))
        cancels = 0
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                cancels += 1
                self.stop(at_once=cancels > 1)
        self.over.set()
        if cancels:
            task.exception()  # what went wrong while it was being cancelled matters less than the cancel
            raise asyncio.CancelledError
        return task.result()

    def stop(self, *, at_once: bool, flag: str | None = None) -> None:
        """Order the end of the program and all that it started; `flag` says why in the result."""
        if self._order == "K" or (self._order and not at_once):
            return
        if flag:
            self._flag(flag)
        self._order = "K" if at_once else "T"
        self._ordered.set()
        if at_once:
            self._at_once.set()

    async def _carry_out(self, on_start: OnStart) -> ExecResult:
        try:
            program, pid = await self._place.start()
        except NotStarted as error:
            return ExecResult(error=str(error))
        try:
            await self._supervise(program, pid, on_start)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await program.close()
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _supervise(self, program: Running, pid: int, on_start: OnStart) -> None:
        self._result.started = True
        self._started_ns = time.monotonic_ns()
        meter = self._place.meter()
        ending = asyncio.ensure_future(program.ended())
        try:
            await self._guarded(on_start, pid)
            pumps = [self._spawn(self._pump, name, each) for name, each in program.outputs.items()]
            watches = [self._spawn(self._feed, program), *self._start_watches(meter)]
            orders = self._spawn(self._carry_order, program)
            await asyncio.wait([ending])
            duration = time.monotonic_ns() - self._started_ns
            for task in (*watches, orders):
                task.cancel()
            ended = ending.result()
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
        if not await self._output.drain(pumps):
            self._flag("output_held_open")
        self._conclude(ended, duration)

    async def _pump(self, name: str, output: Output) -> None:
        """Deliver one output. Both come by one stream: one that nobody reads must not keep the other."""
        try:
            await self._output.pump(name, output)
        finally:
            output.close()
            await output.release()

    def _spawn(self, work: Callable[..., Awaitable[None]], *arguments: object) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._guarded(work, *arguments))
        self._tasks.append(task)
        return task

    async def _guarded(self, work: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """What a callback raises ends the program first; the caller gets it when nothing is left of it."""
        try:
            await work(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again by `_carry_out`
            self._failure = self._failure or error
            self._output.ignore()
            self.stop(at_once=True)

    async def _feed(self, program: Running) -> None:
        """Write the prompt and close stdin."""
        complete = False
        try:
            complete = await program.feed(self._spec.stdin)
        finally:
            if not complete and self._spec.stdin:
                self._flag("stdin_unread")

    async def _carry_order(self, program: Running) -> None:
        """Once the end is ordered: SIGTERM and a grace, unless it is to end at once; then SIGKILL."""
        await self._ordered.wait()
        if not self._at_once.is_set():
            await program.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._at_once.wait(), self._spec.grace_seconds)
        self.killed += max(1, self._seen)
        await program.kill()

    def _start_watches(self, meter: Meter) -> list[asyncio.Task[None]]:
        limits, folders = self._place.limits, self._place.folders
        watches = [self._spawn(self._sample, meter)]
        if meter.in_sight and (limits.memory_bytes is not None or limits.processes is not None):
            watches.append(self._spawn(self._watch_kernel, meter))
        if self._spec.wall_seconds is not None:
            watches.append(self._spawn(watch_wall, self._spec.wall_seconds, self._fire))
        if limits.workspace_bytes is not None:
            watches.append(self._spawn(watch_workspace, folders, limits.workspace_bytes, self._fire))
        if limits.cpu_seconds is not None:
            watches.append(self._spawn(watch_cpu, limits.cpu_seconds, self._cpu_ns(meter), self._fire))
        return watches

    def _cpu_ns(self, meter: Meter) -> Callable[[], int | None]:
        return meter.cpu_ns if meter.in_sight else lambda: self._result.cpu_ns

    async def _sample(self, meter: Meter) -> None:
        def keep(sample: object) -> None:
            self._seen = getattr(sample, "processes", None) or self._seen
            self._result.cpu_ns = getattr(sample, "cpu_ns", None) or self._result.cpu_ns
            self._on_sample(sample)  # type: ignore[arg-type]

        while True:
            if meter.in_sight:
                keep(meter.sample())
                await asyncio.sleep(1 / SAMPLES_PER_SECOND)
            else:
                await self._place.ask(keep)
                await asyncio.sleep(_ASKED_SECONDS)

    async def _watch_kernel(self, meter: Meter) -> None:
        while (limit := meter.fired(self._place.limits)) is None:
            await asyncio.sleep(CLOSE_WATCH_SECONDS)
        self._fire(limit)

    def _fire(self, limit: LimitFired) -> None:
        """A limit was passed: the first one counts."""
        out_of_time = limit.name == "wall_seconds"
        if out_of_time and self._result.ended_ns is not None:
            return  # it is done and has its own time to exit
        if not self._order:
            self._result.limit = limit
            if out_of_time and not any(self._output.counts.values()):
                self._flag("no_output")
        # Only a program that ran out of time can be trusted with a grace: the others take more meanwhile.
        self.stop(at_once=not out_of_time)

    def _said_done(self) -> None:
        self._result.ended_ns = max(0, time.monotonic_ns() - self._started_ns)
        self._spawn(self._watch_hang)

    async def _watch_hang(self) -> None:
        await asyncio.sleep(self._spec.hang_grace_seconds)
        if not self._order:
            self.stop(at_once=False, flag="hang_after_result")

    def _conclude(self, ended: Ending, duration: int) -> None:
        result, counts, limits = self._result, self._output.counts, self._place.limits
        result.stdout_bytes, result.stderr_bytes = counts["stdout"], counts["stderr"]
        result.duration_ns = duration
        result.leftover_processes = ended.leftover or 0
        result.peak_memory_bytes = ended.peak_bytes
        result.cpu_ns = ended.cpu_ns or result.cpu_ns
        self.killed += ended.killed or 0
        if not self._order and result.limit is None:
            result.limit = fired(
                limits, oom_kills=ended.oom_kills, forks_refused=ended.forks_refused, peak=ended.peak_bytes
            )
        self._set_status(ended.code)
        if result.ended_ns is not None:
            result.ended_ns = min(result.ended_ns, duration)
            if duration - result.ended_ns > SLOW_EXIT_NS and "hang_after_result" not in result.flags:
                self._flag("slow_exit")

    def _set_status(self, code: int | None) -> None:
        """Above 128 it is a signal; null when all was killed."""
        result, limits = self._result, self._place.limits
        if code is None:
            result.exit_signal = int(signal.SIGKILL)
        elif code - _BY_SIGNAL in set(signal.valid_signals()):
            result.exit_signal = code - _BY_SIGNAL
        else:
            result.exit_code = code
        if result.exit_signal == signal.SIGXFSZ:
            self._flag("file_size_limit")
            most = limits.file_bytes
            if most is not None and result.limit is None:
                result.limit = LimitFired(name="file_bytes", value=most, measured=most, unit="bytes")

    def _flag(self, name: str) -> None:
        if name not in self._result.flags:
            self._result.flags.append(name)
