"""What a user may mean by --since: a seq, a time, or a length of time ago."""

from __future__ import annotations

import re
from typing import NamedTuple

from eventlog import clock
from hemra.errors import UsageError

_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNIT_NS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


class Since(NamedTuple):
    """Where to begin: at a seq, and only events from `time` on (fixed-width UTC) if it is not None."""

    seq: int
    time: str | None


def parse_since(text: str | None) -> Since:
    """`120` is a seq, `10m` ten minutes ago, `2026-11-30T19:45` a time (UTC if it names no zone).

    Raises UsageError.
    """
    if text is None:
        return Since(1, None)
    if re.fullmatch(r"\d{1,18}", text):
        return Since(max(1, int(text)), None)
    try:
        return Since(1, _time(text))
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since {text}: give a seq (120), a time (2026-11-30T19:45:00Z) or how long ago (10m, 2h, 1d)"
        ) from None


def _time(text: str) -> str:
    """Fixed-width UTC time of a length of time ago, or of a time. Raises what the parsers raise."""
    ago = _AGO.fullmatch(text)
    if ago is None:
        return clock.parse_rfc3339(text)
    return clock.rfc3339(clock.wall_ns() - int(float(ago[1]) * _UNIT_NS[ago[2]]))
