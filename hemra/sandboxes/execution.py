"""One program of a trial from its start until nothing of it is left: output, limits, orderly end, result.

Completion follows the exit of the program, never the end of its output: whoever else holds the output open is
ended first, and what was written is then read to its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eventlog.schemas.runs import Limits
from hemra.sandboxes.base import MARKER, ExecResult, ExecSpec, OnOutput, OnSample, OnStart
from hemra.sandboxes.cgroups import Group
from hemra.sandboxes.launched import Done, Exited, Launched, Settings, Started, StartFailed, start_failure
from hemra.sandboxes.leftovers import end_marked, end_orphans, marked
from hemra.sandboxes.pipes import write_all
from hemra.sandboxes.starter import HostStarter, Starter
from hemra.sandboxes.supervision import Supervision
from hemra.sandboxes.watchdogs import (
    watch_cpu,
    watch_group,
    watch_processes,
    watch_wall,
    watch_workspace,
)
from hemra.telemetry.sampler import TreeSampler

#: How long a launcher may take for an order beyond the grace; it gives up by itself after 10 s.
UNANSWERED_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where programs of a trial are run: their limits, the folders whose size counts, who starts launchers, the
    control group (null: there is none), and how many tasks this user has, as counted outside (0: not counted).

    `contained`: the kernel knows every process of the trial, so none has to be looked for by its marker.
    """

    limits: Limits
    folders: tuple[Path, ...]
    starter: Starter = field(default_factory=HostStarter)
    group: Group | None = None
    tasks: int = 0
    contained: bool = False

    def settings(self) -> Settings:
        """What a launcher is told of the limits. What a group holds needs no other keeper."""
        limits, held = self.limits, set(self.group.folders) if self.group else set()
        memory = limits.memory_bytes
        return Settings(
            file_bytes=limits.file_bytes or 0,
            processes=0 if "processes" in held else limits.processes or 0,
            # A backstop for one process; what all use together is watched from outside.
            cpu_seconds=0 if limits.cpu_seconds is None else int(limits.cpu_seconds) + 2,
            data_bytes=0 if memory is None or "memory" in held else 2 * memory + (256 << 20),
            tasks=self.tasks,
        )


class Execution(Supervision):
    """A program under a launcher, see `Supervision`."""

    def __init__(self, spec: ExecSpec, place: Place, on_output: OnOutput, on_sample: OnSample) -> None:
        super().__init__(spec, place.limits, on_output, on_sample)
        self._place = place
        self._program: Launched | None = None
        self._pid = 0

    def _pass_on(self, letter: bytes) -> None:
        if self._program is not None:
            self._program.order(letter)

    def _hurry(self) -> None:
        if self._place.group is not None:
            self._place.group.kill_now()  # a fork bomb keeps everything else from getting a turn

    def _runs(self) -> bool:
        return bool(self._pid)

    def kill_now(self) -> None:
        """`stop` at once, from a signal handler: nothing here but system calls."""
        self._order = b"K"
        if self._program is not None:
            self._program.order(b"K")
        if self._pid:
            with contextlib.suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)

    async def _carry_out(self, on_start: OnStart) -> ExecResult:
        place = self._place
        try:
            program = await Launched.start(
                self._spec, settings=place.settings(), starter=place.starter, group=place.group
            )
        except StartFailed as error:
            return ExecResult(error=str(error))
        self._program = program
        try:
            if self._order:
                program.order(self._order)
            self._spawn(self._keep_awake, program)
            started = await program.reported()
            if isinstance(started, Started):
                self._pid = started.pid
            elif program.failure is not None or await program.gone() >= 0:
                self._result.error = self._why_not_started(program)
                return self._result
            await self._supervise(program, started, on_start)
        finally:
            await self._end_tasks()
            self._program = None
            await program.close()
        return self._outcome()

    def _why_not_started(self, program: Launched) -> str:
        if program.failure is None:
            return f"cannot start {self._spec.argv[0]!r}: its launcher ended without a word"
        number, _, text = program.failure.partition(" ")
        return start_failure(self._spec.argv[0], int(number), text)

    async def _supervise(self, program: Launched, started: object, on_start: OnStart) -> None:
        """From the start of the program. `started` is no Started when it killed its launcher at once."""
        self._result.started = True
        self._started_ns = started.mono if isinstance(started, Started) else time.monotonic_ns()
        sampler = TreeSampler(program.launcher_pid)
        unanswered = self._spawn(self._watch_order, program)
        if self._pid:
            await self._guarded(on_start, self._pid)
        pumps = [self._spawn(self._output.pump, *each) for each in program.outputs.items()]
        feeding = self._spawn(self._feed, program)
        watches = self._start_watches(sampler)
        exited = await program.reported()
        for task in (*watches, feeding):
            task.cancel()
        done = await program.reported() if isinstance(exited, Exited) else None
        unanswered.cancel()
        await program.gone()
        await self._sweep(lost=None if isinstance(done, Done) else {self._pid, *sampler.pids} - {0})
        self._pid = 0
        if not await self._output.drain(pumps):
            self._flag("output_held_open")
        self._conclude(started, exited, done, sampler)

    async def _feed(self, program: Launched) -> None:
        """Write stdin and close it."""
        if program.stdin_fd is None:
            return
        fd, program.stdin_fd = program.stdin_fd, None
        try:
            await self._write_stdin(lambda data: write_all(fd, data))
        finally:
            os.close(fd)

    def _start_watches(self, sampler: TreeSampler) -> list[asyncio.Task[None]]:
        watches = [self._spawn(watch_processes, sampler, self._limits, self._on_sample, self._fire)]
        if self._spec.wall_seconds is not None:
            watches.append(self._spawn(watch_wall, self._spec.wall_seconds, self._fire))
        size, seconds = self._limits.workspace_bytes, self._limits.cpu_seconds
        if size is not None:
            watches.append(self._spawn(watch_workspace, self._place.folders, size, self._fire))
        if seconds is not None:
            watches.append(self._spawn(watch_cpu, seconds, self._cpu_ns(sampler), self._fire))
        if self._place.group is not None:
            watches.append(self._spawn(watch_group, self._place.group, self._fire))
        return watches

    def _cpu_ns(self, sampler: TreeSampler) -> Callable[[], int | None]:
        """What tells the CPU time of the trial: its group, or else the tree as it was sampled last."""
        group = self._place.group
        return group.cpu_ns if group is not None and "cpu" in group.folders else lambda: sampler.cpu_ns

    async def _keep_awake(self, program: Launched) -> None:
        """A program that stops its launcher must not stop the watch over itself."""
        while True:
            await asyncio.sleep(1)
            program.wake()

    async def _watch_order(self, program: Launched) -> None:
        """A launcher that does not carry out an order is ended itself."""
        await self._ordered.wait()
        await asyncio.sleep(self._spec.grace_seconds + UNANSWERED_SECONDS)
        program.kill_launcher()

    async def _sweep(self, lost: set[int] | None) -> None:
        """End what the launcher could not reach. `lost` are pids below a launcher that was killed."""
        token = self._spec.env[MARKER]
        matches: Callable[[str], bool] = token.__eq__
        if lost is None and (self._place.contained or not any(marked(matches))):
            return
        orphans = await asyncio.to_thread(end_orphans, lost or set())
        killed, left = await asyncio.to_thread(end_marked, matches)
        self.killed += orphans + killed
        self._result.leftover_processes += orphans + killed
        if left:
            self._flag("unkillable_processes")

    def _conclude(self, started: object, exited: object, done: object, sampler: TreeSampler) -> None:
        result = self._result
        result.peak_memory_bytes = sampler.peak_bytes
        duration = max(0, time.monotonic_ns() - self._started_ns)
        if isinstance(started, Started) and isinstance(exited, Exited):
            duration = exited.mono - started.mono
            self._set_status(exited.status)
        self._set_counts(duration)
        group = self._place.group
        if group is not None and result.limit is None and not self._order:
            result.limit = group.fired()  # too short before its end for the watch to see it
        if isinstance(done, Done):
            self._set_use(done)
        else:
            stands = self._place.starter.stands
            self._flag("launcher_killed" if stands else "launcher_lost")
            result.error = (
                "it killed the process that watched it, and was ended with what was left of it"
                if stands
                else "the process that watched the program was killed from outside, and with it the program"
            )
        if result.limit is not None and result.limit.name == "memory_bytes":
            # It may have been ended between two samples, by who counts every page.
            result.peak_memory_bytes = max(result.peak_memory_bytes or 0, int(result.limit.measured))

    def _set_status(self, status: int) -> None:
        if os.WIFSIGNALED(status):
            self._result.exit_signal = os.WTERMSIG(status)
            if self._result.exit_signal == signal.SIGXFSZ:
                self._flag("file_size_limit")
                self._passed_by_itself("file_bytes", self._limits.file_bytes, "bytes")
            elif self._result.exit_signal == signal.SIGXCPU:
                self._passed_by_itself("cpu_seconds", self._limits.cpu_seconds, "seconds")
        else:
            self._result.exit_code = os.WEXITSTATUS(status)
            # How a shell tells that its last command was ended so.
            if self._limits.file_bytes is not None and self._result.exit_code == 128 + signal.SIGXFSZ:
                self._flag("file_size_limit")

    def _set_use(self, done: Done) -> None:
        result = self._result
        result.leftover_processes += done.leftover
        result.cpu_ns = done.cpu_ns
        self.killed += done.killed
        if done.alive:
            self._flag("unkillable_processes")
        if done.oversized:
            self._flag("file_size_limit")
        # The kernel lets a new program begin with its launcher's peak, so a smaller one says nothing.
        if done.peak_bytes > done.own_peak_bytes:
            result.peak_memory_bytes = max(done.peak_bytes, result.peak_memory_bytes or 0)
