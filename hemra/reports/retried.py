"""One try that was run again, in words: how it ended, and what is known of its time, calls, tokens and money."""

from __future__ import annotations

from typing import Any

from hemra.reports import numbers as n
from projections import words

Row = dict[str, Any]


def try_words(again: Row) -> str:
    """`run again, infra error: the sandbox died; took 3.0 s, 1 call, 100 tokens in, 11 out, cost $2.25`"""
    why = f": {n.plain(again['reason'])}" if again["reason"] else ""
    made = None if again["turn_calls"] is None else again["turn_calls"] + (again["side_calls"] or 0)
    calls = f"{n.UNKNOWN} calls" if made is None else n.many(made, "call")
    return (
        f"run again, {n.plain(words.result_label(again['outcome'] or 'interrupted'))}{why}; "
        f"took {n.duration(again['duration_ns'])}, {calls}, {n.count(again['input_tokens'])} tokens in, "
        f"{n.count(again['output_tokens'])} out, cost {n.money(again['cost_usd'], bool(again['cost_partial']))}"
    )


def try_row(again: Row) -> list[Any]:
    """The same for a list: trial, try, outcome, time, cost, why."""
    return [
        again["trial"], again["try_no"], again["outcome"] or "interrupted", n.duration(again["duration_ns"]),
        n.money(again["cost_usd"], bool(again["cost_partial"])), again["reason"],
    ]  # fmt: skip
