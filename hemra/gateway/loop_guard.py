"""Notices a harness that asks again and again and gets nowhere: hundreds of requests in a minute were seen."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

#: More than `MOST` calls that brought nothing on within `WITHIN_S` seconds are a loop.
MOST, WITHIN_S = 25, 30.0
#: Refusals in a row, or seconds since the first of them, after which a harness will not stop by itself.
STUBBORN, STUBBORN_S = 20, 30.0


class LoopGuard:
    """Counts calls without progress. Progress is a whole answer to a conversation that was not answered before."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._idle: deque[float] = deque()
        self._answered: set[str] = set()
        self._beside: set[str] = set()
        self._refused = 0
        self._first_refused = 0.0

    @property
    def looping(self) -> bool:
        """Whether the next call is to be refused."""
        since = self._now() - WITHIN_S
        while self._idle and self._idle[0] < since:
            self._idle.popleft()
        return len(self._idle) > MOST

    def ended(self, asked: str, *, answered: bool) -> None:
        """A call is over. `asked` tells one conversation from another, `answered` whether it got a whole answer."""
        if answered and asked not in self._answered:
            self._answered.add(asked)
            self._idle.clear()
        else:
            self._idle.append(self._now())

    def beside(self, asked: str) -> None:
        """Something was asked that no model answers. It is no progress, and asked again it brings nothing on."""
        if asked in self._beside:
            self._idle.append(self._now())
        self._beside.add(asked)

    def refused(self) -> bool:
        """A call was refused, for whatever reason. Returns whether the harness will not stop by itself."""
        now = self._now()
        if not self._refused:
            self._first_refused = now
        self._refused += 1
        self._idle.append(now)
        return self._refused > STUBBORN or now - self._first_refused > STUBBORN_S

    def passed(self) -> None:
        """A call was sent on."""
        self._refused = 0
