"""Lets work that takes long into the event loop one piece a round, so that tokens of others pass in between."""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Whoever has something to do that takes a part of a millisecond waits for its turn first. Without it sixty calls
    that begin or end in the same instant would be one piece of work of many milliseconds."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def next(self) -> None:
        """Return when nobody else has had a turn in this round of the loop, in the order of asking."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._round)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _round(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else whoever waited has gone
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._round)
                return
        self._taken = False
