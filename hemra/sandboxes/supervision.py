"""Watching over one program, wherever it runs: to the very end, limits, orders to end, and what it is flagged for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import ExecResult, ExecSpec, Input, OnOutput, OnSample, OnStart
from hemra.sandboxes.output import OutputDelivery

#: A program that says that it is done and takes longer than this to exit is worth a flag. Nanoseconds.
SLOW_EXIT_NS = 1_000_000_000
#: How long a program that is talked to may take to end by itself before it is made to.
FAREWELL_SECONDS = 2.0


class Supervision:
    """Carries out one ExecSpec. `killed` counts processes that had to be killed; `over` is set at the end.

    A sandbox says how in `_carry_out`, and what it does about an order in `_pass_on`, about a limit that more than a
    grace would break in `_hurry`.
    """

    def __init__(self, spec: ExecSpec, limits: Limits, on_output: OnOutput, on_sample: OnSample) -> None:
        self._spec = spec
        self._limits = limits
        self._on_sample = on_sample
        self._output = OutputDelivery(spec, on_output, self._fire, self._said_done)
        self._result = ExecResult()
        #: What was ordered: nothing, b"T" in order, b"K" at once.
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
        if at_once or self._input is None or not self._runs():
            self._carry(letter)
        else:
            self._spawn(self._part, self._input)

    def _carry(self, letter: bytes) -> None:
        self._ordered.set()
        self._pass_on(letter)

    async def _part(self, said: Input) -> None:
        """Ask the program to end before it is made to."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(said.farewell(), FAREWELL_SECONDS)
        self._carry(self._order)

    async def _carry_out(self, on_start: OnStart) -> ExecResult:
        """Start the program, watch over it, and conclude."""
        raise NotImplementedError

    def _pass_on(self, letter: bytes) -> None:
        """Tell whoever ends the program of the order."""

    def _hurry(self) -> None:
        """A limit was passed that the trial goes on breaking while it is being ended."""

    def _runs(self) -> bool:
        """Whether there is a program to be ended."""
        return True

    def _spawn(self, work: Callable[..., Awaitable[None]], *arguments: object) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._guarded(work, *arguments))
        self._tasks.append(task)
        return task

    async def _guarded(self, work: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """What a callback raises ends the program first; the caller gets it when nothing is left of it."""
        try:
            await work(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again by `_outcome`
            self._failure = self._failure or error
            self._output.ignore()
            self.stop(at_once=True)

    @property
    def _input(self) -> Input | None:
        """What is said to the program while it runs."""
        stdin = self._spec.stdin
        return None if stdin is None or isinstance(stdin, bytes) else stdin

    async def _write_stdin(self, write: Callable[[bytes], Awaitable[bool]]) -> None:
        """Write all of stdin. `write` gives False when the program takes no more."""
        said, unwritten = self._input, self._spec.stdin if isinstance(self._spec.stdin, bytes) else b""
        try:
            while unwritten or (said is not None and (unwritten := await said.read())):
                if not await write(unwritten):
                    return
                unwritten = b""
        finally:
            if said is not None:
                said.close()
            if unwritten:
                self._flag("stdin_unread")

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _outcome(self) -> ExecResult:
        """The result, or what a callback raised."""
        if self._failure is not None:
            raise self._failure
        return self._result

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
        if not out_of_time:
            self._hurry()
        self.stop(at_once=not out_of_time)

    def _said_done(self) -> None:
        self._result.ended_ns = max(0, time.monotonic_ns() - self._started_ns)
        self._spawn(self._watch_hang)

    async def _watch_hang(self) -> None:
        await asyncio.sleep(self._spec.hang_grace_seconds)
        if self._runs() and not self._order:
            self.stop(
                at_once=False, flag="hang_after_result" if self._input is None else "stdin_close_ignored"
            )

    def _set_counts(self, duration_ns: int) -> None:
        """Bytes of output, how long it ran, and whether it took its time to exit after it had said that it was done."""
        result, counts = self._result, self._output.counts
        result.stdout_bytes, result.stderr_bytes = counts["stdout"], counts["stderr"]
        result.duration_ns = duration_ns
        if result.ended_ns is not None:
            result.ended_ns = min(result.ended_ns, duration_ns)
            hung = {"hang_after_result", "stdin_close_ignored"} & set(result.flags)
            if duration_ns - result.ended_ns > SLOW_EXIT_NS and not hung:
                self._flag("slow_exit")

    def _passed_by_itself(self, name: str, limit: float | None, unit: str) -> None:
        """The kernel ended the program itself at this limit; how far it would have gone is not known."""
        if limit is not None and self._result.limit is None:
            self._result.limit = LimitFired(name=name, value=limit, measured=limit, unit=unit)

    def _flag(self, name: str) -> None:
        if name not in self._result.flags:
            self._result.flags.append(name)
