"""Scores in the cells of tables, for all formats."""

from __future__ import annotations

from typing import Any

from hemra.reports import numbers as n

Row = dict[str, Any]


def category_cell(own: Row) -> str:
    """A harness's strict score in a category, with how much of it is scored where that is not all.

    `50.0 % [9–91] 3/4 scored`
    """
    strict = own["strict"]
    part = "" if own["scored"] == own["planned"] else f" {own['scored']}/{own['planned']} scored"
    return f"{n.percent(strict['mean'])}{n.spread(strict)}{part}"


def score_words(status: str | None, reward: float | None) -> str:
    """What the scorer said of a trial. What does not count (`reward` is null) does not read as a failure.

    `PASS 1`, `FAIL 0.5`, `not scored`, `not scored (the scorer said FAIL)`
    """
    if reward is not None:
        return f"{n.plain(status)} {n.quantity(reward)}"
    return "not scored" + ("" if status is None else f" (the scorer said {n.plain(status)})")
