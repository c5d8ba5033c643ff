"""Whether what is awaited comes so soon that looking again and again is better than sleeping.

Who sleeps is woken late and goes on slowly: an idle processor takes some 0.03 ms to come back, more in a virtual
machine, and finds its caches cold. Between a producer and its recorder that happens twice a commit. So while commits
come by the thousand a second both ends stay awake for what is left of the usual time and as much again. They sleep at
once at any other time, where there is no second processor for the other end, and where others want the processors: who
stays awake there has used up its turn when it has something to do.
"""

from __future__ import annotations

import math
import os
import time

#: Beats that come within this on average are worth staying awake for (seconds).
BUSY_S = 0.001
#: How many of the last beats the average is made of, about; a longer pause counts as so many busy ones.
_MEMORY = 8
#: Others want the processor where this thread stood in line for it so long a beat, on average of so many beats
#: (seconds). The kernel's own threads that write a disk take some hundredths of a millisecond a commit, other programs
#: whole milliseconds. Staying awake is tried again after a while.
_CROWDED_S = 0.00015
_CALM_BEATS = 32
_RETRY_S = 1.0


class Pace:
    """The pace of something that repeats. Used by one thread at a time."""

    def __init__(self) -> None:
        self._last = 0.0
        self._usual_s = _MEMORY * BUSY_S
        self._beats = 0
        self._stood_s = math.inf
        self._not_before = 0.0 if _processors() > 1 else math.inf

    def beat(self) -> None:
        """It happened again."""
        now = time.monotonic()
        self._usual_s += (min(now - self._last, _MEMORY * BUSY_S) - self._usual_s) / _MEMORY
        self._last = now
        self._beats += 1
        if self._beats % _CALM_BEATS == 0 and now >= self._not_before:
            # What it stood in line while it slept counts too.
            before_s, self._stood_s = self._stood_s, _stood_in_line_s()
            calm = self._stood_s < math.inf and self._stood_s - before_s <= _CALM_BEATS * _CROWDED_S
            self._not_before = 0.0 if calm else now + _RETRY_S

    def awake_until(self) -> float:
        """Up to when (monotonic seconds) it pays to look for the next beat without sleeping; may be past."""
        if self._usual_s > BUSY_S or self._last < self._not_before:
            return 0.0
        return self._last + 2 * self._usual_s


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _stood_in_line_s() -> float:
    """Seconds that this thread was ready to run and others did; infinite where the system does not say."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return math.inf
