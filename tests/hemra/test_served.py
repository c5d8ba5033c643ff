"""What is said of a try's model calls beside their record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from harnesses.base import Conclusion
from hemra.engine.served import Served
from hemra.gateway.budget import Budget

TURN, TITLE = Usage(input_tokens=100, output_tokens=10), Usage(input_tokens=30, output_tokens=3)


def served(*calls: tuple[bool, Usage]) -> Any:
    """A try whose calls (whether a turn, what it used) were answered in order."""
    budget = Budget(Limits())
    for turn, usage in calls:
        budget.begin(turn=turn)
        budget.end(turn=turn, served=True, whole=True, usage=usage, cost=None)
    job: Any = SimpleNamespace(harness=SimpleNamespace(name="h"), task=None)
    made = Served(None, job)
    made._channel = SimpleNamespace(  # type: ignore[assignment]
        flags=[], calls=len(calls), usage=budget.usage, turn_usage=budget.turn_usage
    )
    made._untold = lambda: False  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    ("told", "flagged"),
    [
        (Usage(input_tokens=200, output_tokens=20), False),
        (Usage(input_tokens=230, output_tokens=23), False),
        (Usage(input_tokens=100, output_tokens=10), True),
        (Usage(output_tokens=20), False),
        (None, False),
    ],
)
def test_sums_agree_with_all_calls_or_with_the_turns(told: Usage | None, flagged: bool) -> None:
    """Every agent that does not count what it asks its model for a title would be one that counts wrongly."""
    one = served((True, TURN), (False, TITLE), (True, TURN))
    assert ("usage_disagrees" in one.flags(Conclusion(usage=told))) == flagged


def test_without_side_calls_there_is_one_sum() -> None:
    """A sum that is only a part of the calls would pass."""
    one = served((True, TURN), (True, TURN))
    assert "usage_disagrees" in one.flags(Conclusion(usage=TURN))
    assert "usage_disagrees" not in served((False, TITLE)).flags(Conclusion(usage=TITLE))
