"""What an interpreter that talks says to its program, on its way to the program's stdin.

The program is talked to from its start until it has said that it is done and a moment has passed in which it may say
more; then its stdin is closed, which tells it to exit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from harnesses.base import Dialogue, Interpreter

#: What a program says late comes within this time after it said that it was done. Seconds.
LATE_SECONDS = 0.5
#: So much may wait for a program that does not read; then what it prints waits as well. Bytes.
WAITING_BYTES = 16 << 20


class Speech:
    """The `Input` of one program's stdin. `record` is given all that is said, in order; `over` is set when the program
    was not ready in time and is to be ended. To be made and used in one event loop."""

    def __init__(
        self, dialogue: Dialogue, ended: Callable[[], bool], record: Callable[[bytes], None]
    ) -> None:
        self._dialogue = dialogue
        self._has_ended = ended
        self._record = record
        self._waiting = bytearray()
        self._news, self._room, self._done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._over = self._closed = False
        self._timers: list[asyncio.TimerHandle] = []
        self.over = asyncio.Event()

    def begin(self) -> None:
        """The program was started: say the first words, and give it its time to be ready."""
        self._later(self._dialogue.patience, self._look)
        self._take()

    async def heard(self) -> None:
        """The dialogue was fed: take what it says to that. Waits while the program reads nothing of it."""
        self._take()
        while len(self._waiting) > WAITING_BYTES and not self._closed:
            self._room.clear()
            await self._room.wait()

    async def read(self) -> bytes:
        """The next bytes for the program; empty at the end."""
        while not self._waiting and not self._over and not self._closed:
            self._news.clear()
            await self._news.wait()
        said = bytes(self._waiting)
        self._waiting.clear()
        self._room.set()
        return said

    def close(self) -> None:
        """The program takes no more."""
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        for event in (self._news, self._room, self._done):
            event.set()

    async def farewell(self) -> None:
        """Ask the program to stop by itself, and wait until it says that it has."""
        if self._has_ended() or self._closed:
            return
        self._dialogue.cancel()
        if self._take():
            await self._done.wait()

    def _take(self) -> bool:
        """Whether there was something to be said."""
        said = self._dialogue.say()
        if self._has_ended() and not self._done.is_set():
            self._done.set()
            self._later(LATE_SECONDS, self._end)
        if not said or self._closed:
            return False
        self._record(said)
        self._waiting += said
        self._news.set()
        return True

    def _end(self) -> None:
        self._over = True
        self._news.set()

    def _look(self) -> None:
        if not self._dialogue.ready and not self._has_ended():
            self._dialogue.give_up()
            self.over.set()

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, what))


def speech_of(interpreter: Interpreter, record: Callable[[bytes], None]) -> Speech | None:
    """The speech of an interpreter that talks; None for one that only listens."""
    if not isinstance(interpreter, Dialogue):
        return None
    return Speech(interpreter, lambda: interpreter.ended, record)
