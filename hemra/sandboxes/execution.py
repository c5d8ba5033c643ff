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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import MARKER, ExecResult, ExecSpec, OnOutput, OnSample, OnStart
from hemra.sandboxes.cgroups import Group
from hemra.sandboxes.launched import Done, Exited, Launched, Settings, Started, StartFailed, start_failure
from hemra.sandboxes.leftovers import end_marked, end_orphans, marked
from hemra.sandboxes.output import OutputDelivery
from hemra.sandboxes.pipes import write_all
from hemra.sandboxes.starter import HostStarter, Starter
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
#: A program that says that it is done and takes longer than this to exit is worth a flag. Nanoseconds.
SLOW_EXIT_NS = 1_000_000_000


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


class Execution:
    """Carries out one ExecSpec. `killed` counts processes that needed SIGKILL; `over` is set at the end."""

    def __init__(self, spec: ExecSpec, place: Place, on_output: OnOutput, on_sample: OnSample) -> None:
        self._spec = spec
        self._place = place
        self._limits = place.limits
        self._on_sample = on_sample
        self._output = OutputDelivery(spec, on_output, self._fire, self._said_done)
        self._result = ExecResult()
        self._program: Launched | None = None
        self._pid = 0
        self._order = b""
        self._ordered = asyncio.Event()
        self._failure: Exception | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started_ns = 0
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
        letter = b"K" if at_once else b"T"
        if self._order in (b"K", letter):
            return
        if flag:
            self._flag(flag)
        self._order = letter
        self._ordered.set()
        if self._program is not None:
            self._program.order(letter)

    def kill_now(self) -> None:
        """The same at once, from a signal handler: nothing here but system calls."""
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
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._program = None
            await program.close()
        if self._failure is not None:
            raise self._failure
        return self._result

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

    async def _feed(self, program: Launched) -> None:
        """Write the prompt and close stdin."""
        if self._spec.stdin is None or program.stdin_fd is None:
            return
        fd, program.stdin_fd = program.stdin_fd, None
        complete = False
        try:
            complete = await write_all(fd, self._spec.stdin)
        finally:
            if not complete:
                self._flag("stdin_unread")

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
        if not out_of_time and self._place.group is not None:
            self._place.group.kill_now()  # a fork bomb keeps everything else from getting a turn
        self.stop(at_once=not out_of_time)

    def _said_done(self) -> None:
        self._result.ended_ns = max(0, time.monotonic_ns() - self._started_ns)
        self._spawn(self._watch_hang)

    async def _watch_hang(self) -> None:
        await asyncio.sleep(self._spec.hang_grace_seconds)
        if self._pid and not self._order:
            self.stop(at_once=False, flag="hang_after_result")

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
        result.stdout_bytes, result.stderr_bytes = (
            self._output.counts["stdout"],
            self._output.counts["stderr"],
        )
        result.duration_ns = max(0, time.monotonic_ns() - self._started_ns)
        result.peak_memory_bytes = sampler.peak_bytes
        if isinstance(started, Started) and isinstance(exited, Exited):
            result.duration_ns = exited.mono - started.mono
            self._set_status(exited.status)
        if result.ended_ns is not None:
            result.ended_ns = min(result.ended_ns, result.duration_ns)
            if (
                result.duration_ns - result.ended_ns > SLOW_EXIT_NS
                and "hang_after_result" not in result.flags
            ):
                self._flag("slow_exit")
        group = self._place.group
        if group is not None and result.limit is None and not self._order:
            result.limit = group.fired()  # too short before its end for the watch to see it
        if isinstance(done, Done):
            self._set_use(done)
        else:
            self._flag("launcher_lost")
            result.error = (
                "the process that watched the program was killed, and with it what was left of the program"
            )

    def _set_status(self, status: int) -> None:
        if os.WIFSIGNALED(status):
            self._result.exit_signal = os.WTERMSIG(status)
            if self._result.exit_signal == signal.SIGXFSZ:
                self._wrote_too_much()
            elif self._result.exit_signal == signal.SIGXCPU:
                self._worked_too_long()
        else:
            self._result.exit_code = os.WEXITSTATUS(status)
            # How a shell tells that its last command was ended so.
            if self._limits.file_bytes is not None and self._result.exit_code == 128 + signal.SIGXFSZ:
                self._flag("file_size_limit")

    def _wrote_too_much(self) -> None:
        """The kernel ended the program itself; what it was about to write is not known beyond the limit."""
        self._flag("file_size_limit")
        limit = self._limits.file_bytes
        if limit is not None and self._result.limit is None:
            self._result.limit = LimitFired(name="file_bytes", value=limit, measured=limit, unit="bytes")

    def _worked_too_long(self) -> None:
        """The kernel ended the program itself, before the watch did."""
        limit = self._limits.cpu_seconds
        if limit is not None and self._result.limit is None:
            self._result.limit = LimitFired(name="cpu_seconds", value=limit, measured=limit, unit="seconds")

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

    def _flag(self, name: str) -> None:
        if name not in self._result.flags:
            self._result.flags.append(name)
