"""Answers on their way from the thread that sends to an event loop: woken once for a whole batch."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from eventlog.outbox import Item


class LoopAnswers:
    """Hands answered items to the futures of one loop. `put` may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._mutex = threading.Lock()
        self._answered: list[tuple[asyncio.Future[int | None], Item]] = []

    def put(self, future: asyncio.Future[int | None], item: Item) -> None:
        """`item` is answered; its future is resolved in the loop soon."""
        with self._mutex:
            self._answered.append((future, item))
            first = len(self._answered) == 1
        if first:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        with self._mutex:
            answered, self._answered = self._answered, []
        for future, item in answered:
            if future.cancelled():
                continue
            if item.error is not None:
                future.set_exception(item.error)
            else:
                future.set_result(item.seq)
