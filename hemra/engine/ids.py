"""Names of runs and trials.

A run id is `20261130-194512-0k4x7q`: UTC date and time, two characters for the millisecond, four
random ones. Ids sort by start time as plain text, and the alphabet has no letter that reads as a
digit. Two runs that draw the same id are told apart by whoever creates the stream first.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from eventlog import clock

#: Crockford's base 32, in ASCII order, so that text order is number order.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

RUN_ID = re.compile(rf"\d{{8}}-\d{{6}}-[{ALPHABET}]{{6}}")


def new_run_id(wall: clock.WallClock = clock.wall_ns) -> str:
    """A fresh run id for this instant by `wall` (nanoseconds since the epoch)."""
    seconds, rest = divmod(wall(), 1_000_000_000)
    high, low = divmod(rest // 1_000_000, len(ALPHABET))
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(4))
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d-%H%M%S}-{ALPHABET[high]}{ALPHABET[low]}{drawn}"


def trial_id(position: int) -> str:
    """The id of the trial at `position` (from 1) of a plan: at least four digits."""
    return f"{position:04d}"
