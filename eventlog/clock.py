"""The two clocks of an event: wall time for people, monotonic time for durations.

Wall time never orders events and never measures anything: it can jump. `seq` orders, `mono` measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

#: Nanoseconds since the epoch (UTC).
WallClock = Callable[[], int]
#: Nanoseconds of the machine's monotonic clock; only differences mean something.
MonoClock = Callable[[], int]

wall_ns: WallClock = time.time_ns
mono_ns: MonoClock = time.monotonic_ns

_EPOCH = datetime(1970, 1, 1)
_second_cache: tuple[int, str] = (0, "1970-01-01T00:00:00")


def rfc3339(ns: int) -> str:
    """UTC time of `ns` (nanoseconds since the epoch), fixed width: `2026-11-30T19:38:06.123456789Z`.

    Raises ValueError outside the years 1 to 9999.
    """
    global _second_cache  # noqa: PLW0603 - one formatted second is reused by thousands of events
    second, fraction = divmod(ns, 1_000_000_000)
    cached, text = _second_cache
    if cached != second:
        try:
            text = (_EPOCH + timedelta(seconds=second)).isoformat()
        except OverflowError:
            raise ValueError(f"{ns} ns since 1970 is outside the years 1 to 9999") from None
        _second_cache = (second, text)
    return f"{text}.{fraction:09d}Z"


def parse_rfc3339(text: str) -> str:
    """Bring a user's ISO 8601 time to the fixed-width form of the log, so that text order is time order.

    A time without zone is taken as UTC. Raises ValueError for anything else.
    """
    moment = datetime.fromisoformat(text.strip().replace("z", "Z"))
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return rfc3339(whole * 1_000_000_000 + moment.microsecond * 1000)
