"""Token use as harnesses tell it, in the one normal form, added up. What is not told stays null."""

from __future__ import annotations

import math
from typing import Any

from eventlog.schemas.trials import Usage

COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
#: Beyond this a count is a mistake of the harness, and no exact JSON number either.
MOST = 2**53


def read_usage(told: dict[str, Any]) -> tuple[Usage | None, bool]:
    """Usage in normal form from an object with its fields, and whether every field given was a usable number.

    None when no usable number was given.
    """
    counts = {name: _count(told.get(name)) for name in COUNTS}
    cost = _amount(told.get("cost_usd"))
    given = [name for name in (*COUNTS, "cost_usd") if told.get(name) is not None]
    known = [value for value in (*counts.values(), cost) if value is not None]
    usage = Usage(**counts, cost_usd=cost) if known else None
    return usage, len(known) == len(given)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value < MOST else None


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST:
        return None
    return float(value) if math.isfinite(value) else None


def add(left: Usage | None, right: Usage | None) -> Usage | None:
    """The sum, field by field; a field that only one side tells is what that side tells."""
    if left is None or right is None:
        return left or right
    total: dict[str, Any] = {}
    for name in (*COUNTS, "cost_usd"):
        values = [value for value in (getattr(left, name), getattr(right, name)) if value is not None]
        total[name] = sum(values) if values else None
    return Usage(**total)
