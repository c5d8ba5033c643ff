"""Hands a program's output on, chunk by chunk, counts it, and notices when it is too much or says "done"."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from eventlog.schemas.trials import LimitFired
from hemra.sandboxes.base import ExecSpec, OnOutput

DRAIN_SECONDS = 2.0
DRAIN_BYTES = 4 * 1024 * 1024  # more than pipes hold, so that a writer out of reach cannot keep us


class Source(Protocol):
    """Bytes as they come, at most 64 KiB at once; empty at the end."""

    async def read(self) -> bytes:
        """The next bytes."""


class OutputDelivery:
    """Output of one program, delivered one chunk at a time whichever stream it came from.

    `fire` is called once when the sum over all streams passes the limit. The chunk that passed it is
    delivered whole; then nothing is read until the program has ended, and what is still in the pipes is
    delivered too. `said_done` is called once when the spec's `ended` turns true.
    """

    def __init__(
        self,
        spec: ExecSpec,
        on_output: OnOutput,
        fire: Callable[[LimitFired], None],
        said_done: Callable[[], None],
    ) -> None:
        self._limit = spec.output_bytes
        self._ended = spec.ended
        self._on_output = on_output
        self._fire = fire
        self._said_done = said_done
        self._turn = asyncio.Lock()
        self._last_read = 0.0
        self._delivering = 0
        self._deaf = False
        self._may_read = asyncio.Event()
        self._may_read.set()
        self.counts: dict[str, int] = {"stdout": 0, "stderr": 0}

    def ignore(self) -> None:
        """Read on, but hand nothing over any more: its receiver has failed."""
        self._deaf = True

    async def pump(self, stream: str, source: Source) -> None:
        """Deliver one stream until its end. Raises what the receiver raises."""
        while chunk := await source.read():
            self._last_read = time.monotonic()
            self.counts[stream] += len(chunk)
            self._check_limit()
            if self._deaf:
                await asyncio.sleep(0)
                continue
            self._delivering += 1
            try:
                async with self._turn:
                    await self._on_output(stream, chunk)
            finally:
                self._delivering -= 1
            if self._ended is not None and self._ended():
                self._ended = None
                self._said_done()
            # A program that always has more to say must not keep the timers from running.
            await asyncio.sleep(0)
            await self._may_read.wait()

    def _check_limit(self) -> None:
        total = sum(self.counts.values())
        if self._limit is not None and total > self._limit:
            self._fire(LimitFired(name="output_bytes", value=self._limit, measured=total, unit="bytes"))
            self._limit = None
            self._may_read.clear()

    async def drain(self, pumps: Sequence[asyncio.Task[None]]) -> bool:
        """Wait, when the program has ended, until its output is read to the end.

        False when somebody out of reach still holds it open: nothing came for two seconds, or more than pipes
        can hold.
        """
        before = sum(self.counts.values())
        self._last_read = time.monotonic()
        self._may_read.set()
        pending = set(pumps)
        while pending:
            _, pending = await asyncio.wait(pending, timeout=0.1)
            idle = 0.0 if self._delivering else time.monotonic() - self._last_read
            if pending and (idle > DRAIN_SECONDS or sum(self.counts.values()) - before > DRAIN_BYTES):
                return False
        return True
