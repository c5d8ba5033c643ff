"""Token use as harnesses tell it, in the one normal form, added up. What is not told stays null."""

from __future__ import annotations

import math
from typing import Any

from eventlog.schemas.trials import Usage

COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
#: Beyond this a count is a mistake of the harness, and no exact JSON number either.
MOST = 2**53


def read_usage(told: dict[str, Any]) -> tuple[Usage | None, bool]:
    """Usage in normal form from an object with its fields, and whether every field given was a usable number
    and they agree: `input_tokens` includes what was read from a cache.

    None when no usable number was given.
    """
    counts = {name: _count(told.get(name)) for name in COUNTS}
    cost = _amount(told.get("cost_usd"))
    given = [name for name in (*COUNTS, "cost_usd") if told.get(name) is not None]
    known = [value for value in (*counts.values(), cost) if value is not None]
    usage = Usage(**counts, cost_usd=cost) if known else None
    cached, whole = counts["cache_read_tokens"], counts["input_tokens"]
    # Both are kept as they were told: which of the two is wrong is not for us to guess.
    contradictory = cached is not None and whole is not None and cached > whole
    return usage, len(known) == len(given) and not contradictory


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


def _add(left: Usage | None, right: Usage | None) -> Usage | None:
    """The sum, field by field; a field that only one side tells is what that side tells."""
    if left is None or right is None:
        return left or right
    total: dict[str, Any] = {}
    for name in (*COUNTS, "cost_usd"):
        values = [value for value in (getattr(left, name), getattr(right, name)) if value is not None]
        total[name] = sum(values) if values else None
    return Usage(**total)


class UsageSum:
    """What a harness told line by line, added up.

    A field that some lines tell and others do not is a lower bound: `flags` says so, as `cost_partial` for
    the cost and `usage_partial` for the tokens in and out.
    """

    def __init__(self) -> None:
        self.total: Usage | None = None
        self._lines = 0
        self._told = dict.fromkeys((*COUNTS, "cost_usd"), 0)

    def add(self, usage: Usage | None) -> None:
        """One more line; None for one that told nothing usable."""
        self._lines += 1
        for name in self._told:
            self._told[name] += usage is not None and getattr(usage, name) is not None
        self.total = _add(self.total, usage)

    def flags(self) -> list[str]:
        """Which sums are lower bounds."""
        found = []
        if any(0 < self._told[name] < self._lines for name in ("input_tokens", "output_tokens")):
            found.append("usage_partial")
        if 0 < self._told["cost_usd"] < self._lines:
            found.append("cost_partial")
        return found
