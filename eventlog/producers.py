"""Which numbers of which producers a stream holds: how a resend is told from a new event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K", bytes, str)

#: Producers remembered; the longest silent ones are forgotten first.
MAX_PRODUCERS = 4096


def remember(marks: dict[K, int], fresh: Mapping[K, int]) -> None:
    """Take `fresh` highest numbers into `marks`, whose order is from the longest silent to the most recent."""
    for producer, number in fresh.items():
        marks.pop(producer, None)
        marks[producer] = number
    while len(marks) > MAX_PRODUCERS:
        del marks[next(iter(marks))]
