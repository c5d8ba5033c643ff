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
from hemra.sandboxes.base import ExecResult, ExecSpec, OnOutput, OnSample, OnStart
from hemra.sandboxes.docker_meter import Meter, fired
from hemra.sandboxes.docker_stream import Output
from hemra.sandboxes.docker_words import Ending
from hemra.sandboxes.supervision import Supervision
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

    async def write(self, data: bytes) -> bool:
        """Write to its stdin. False when it takes no more."""

    def end_input(self) -> None:
        """Its stdin is over."""

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


class DockerExecution(Supervision):
    """A program in a container, see `Supervision`."""

    def __init__(self, spec: ExecSpec, place: Place, on_output: OnOutput, on_sample: OnSample) -> None:
        super().__init__(spec, place.limits, on_output, on_sample)
        self._place = place
        self._at_once = asyncio.Event()
        self._seen = 0

    def _pass_on(self, letter: bytes) -> None:
        if letter == b"K":
            self._at_once.set()

    async def _carry_out(self, on_start: OnStart) -> ExecResult:
        try:
            program, pid = await self._place.start()
        except NotStarted as error:
            return ExecResult(error=str(error))
        try:
            await self._supervise(program, pid, on_start)
        finally:
            await self._end_tasks()
            await program.close()
        return self._outcome()

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

    async def _feed(self, program: Running) -> None:
        """Write stdin and close it."""
        try:
            await self._write_stdin(program.write)
        finally:
            program.end_input()

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
        limits, folders = self._limits, self._place.folders
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
        while (limit := meter.fired(self._limits)) is None:
            await asyncio.sleep(CLOSE_WATCH_SECONDS)
        self._fire(limit)

    def _conclude(self, ended: Ending, duration: int) -> None:
        result = self._result
        result.leftover_processes = ended.leftover or 0
        result.peak_memory_bytes = ended.peak_bytes
        result.cpu_ns = ended.cpu_ns or result.cpu_ns
        self.killed += ended.killed or 0
        if not self._order and result.limit is None:
            result.limit = fired(
                self._limits,
                oom_kills=ended.oom_kills,
                forks_refused=ended.forks_refused,
                peak=ended.peak_bytes,
            )
        self._set_status(ended.code)
        self._set_counts(duration)

    def _set_status(self, code: int | None) -> None:
        """Above 128 it is a signal; null when all was killed."""
        result = self._result
        if code is None:
            result.exit_signal = int(signal.SIGKILL)
        elif code - _BY_SIGNAL in set(signal.valid_signals()):
            result.exit_signal = code - _BY_SIGNAL
        else:
            result.exit_code = code
        if result.exit_signal == signal.SIGXFSZ:
            self._flag("file_size_limit")
            self._passed_by_itself("file_bytes", self._limits.file_bytes, "bytes")
