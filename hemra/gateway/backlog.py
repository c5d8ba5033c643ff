"""Reads answers after they were passed on, a little at a time, so that no token waits for the reading of another."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hemra.gateway.exchange import Exchange

#: Seconds after which what was passed on is read: many streams are then read in one go.
_AFTER_S = 0.005
#: Seconds of reading in one round of the loop, in which others may have something to pass on.
_SLICE_S = 0.0005


class Backlog:
    """What all exchanges of a gateway have passed on and not read yet."""

    def __init__(self) -> None:
        self._waiting: deque[Exchange] = deque()
        self._scheduled = False

    def put(self, exchange: Exchange) -> None:
        """An exchange has something to be read."""
        self._waiting.append(exchange)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_later(_AFTER_S, self._read)

    def _read(self) -> None:
        until = time.perf_counter() + _SLICE_S
        while self._waiting:
            self._waiting.popleft().read_one()
            if time.perf_counter() > until:
                break
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._read)
