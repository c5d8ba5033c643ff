"""What trials took of their models: calls, tokens, money, time. One set of figures for every harness and every report.

All from rows of the trial table. Unknown is null: a sum is null where nothing of it is known, and `lower_bound` where
some of it is not. Money that a provider or harness told and money that the price table makes of tokens are kept apart;
`usd` takes, call by call, the first where it is known. What a cassette answered cost nothing and is counted apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]

_CALLS = ("turn", "side", "failed", "retry", "refused")
#: Kind of token -> column.
_TOKENS = {
    "input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}


def spending(trials: Sequence[Row]) -> Row:
    """The figures of some trials (rows of tables/trials.sql)."""
    started = [t for t in trials if t["tries"] > 0]
    return {
        "calls": _calls(trials),
        "tokens": {kind: _tokens(started, column) for kind, column in _TOKENS.items()},
        "failed_tokens": {
            "input": _sum(trials, "failed_input_tokens"),
            "output": _sum(trials, "failed_output_tokens"),
        },
        "cost": _cost(started),
        "replayed": _replayed(trials),
        "model_ns": _middle(trials, "model_ns"),
        "first_token_ns": _middle(trials, "first_token_ns"),
    }


def run_again(superseded: Sequence[Row]) -> Row:
    """What tries took that were run again and do not count (rows of tables/superseded.sql).

    The same figures as `spending`; how long they took (`duration_known`: of how many that is known); how they ended.
    """
    spent = spending([{**one, "tries": 1} for one in superseded])
    return {
        "tries": len(superseded),
        "outcomes": dict(sorted(Counter(x["outcome"] or "interrupted" for x in superseded).items())),
        "duration_ns": _sum(superseded, "duration_ns"),
        "duration_known": len(_known(superseded, "duration_ns")),
        "cost_usd": spent["cost"]["usd"],
        **{key: spent[key] for key in ("calls", "tokens", "failed_tokens", "cost", "replayed")},
    }


def paid(*accounts: Row) -> Row:
    """Money over several accounts (`cost` of `spending`): what counts and what was run again."""
    known = [account["usd"] for account in accounts if account["usd"] is not None]
    lacking = any(account["unknown"] or account["partial"] for account in accounts)
    return {"usd": math.fsum(known) if known else None, "lower_bound": bool(known) and lacking}


def paid_for(tries: Sequence[Row]) -> Row:
    """Money over all tries of one trial: its row, and those of what was run again."""
    usd = _money(tries, "cost_usd")
    return {
        "usd": usd,
        "lower_bound": usd is not None and any(unpriced(t) or t["cost_partial"] for t in tries),
    }


def again_columns(trials: Sequence[Row], superseded: Sequence[Row]) -> Row:
    """What the tries of one task and harness took that were run again, by the names of a report's CSV."""
    again = run_again(superseded)
    started = [t for t in trials if t["tries"] > 0]
    return {
        "tries_run_again": again["tries"],
        "run_again_ns": again["duration_ns"],
        "run_again_turn_calls": again["calls"]["turn"],
        "run_again_side_calls": again["calls"]["side"],
        "run_again_input_tokens": again["tokens"]["input"]["sum"],
        "run_again_output_tokens": again["tokens"]["output"]["sum"],
        "run_again_cost_usd": again["cost_usd"],
        "run_again_cost_unknown": again["cost"]["unknown"],
        "paid_usd": paid(_cost(started), again["cost"])["usd"],
    }


def columns(trials: Sequence[Row]) -> Row:
    """The figures of the trials of one task and harness in one row, by the names of a report's CSV."""
    spent = spending(trials)
    tokens, cost = spent["tokens"], spent["cost"]
    return {
        "agent_median_ns": _middle(trials, "agent_ns")["median"],
        "model_median_ns": spent["model_ns"]["median"],
        "first_token_median_ns": spent["first_token_ns"]["median"],
        "turn_calls": spent["calls"]["turn"],
        "side_calls": spent["calls"]["side"],
        "failed_calls": spent["calls"]["failed"],
        "replayed_calls": spent["replayed"]["calls"],
        "input_tokens": tokens["input"]["sum"],
        "cache_read_tokens": tokens["cache_read"]["sum"],
        "output_tokens": tokens["output"]["sum"],
        "reasoning_tokens": tokens["reasoning"]["sum"],
        "cost_usd": cost["usd"],
        "told_usd": cost["told_usd"],
        "computed_usd": cost["computed_usd"],
        "cost_unknown_trials": cost["unknown"],
    }


def _known(trials: Sequence[Row], column: str) -> list[Any]:
    return [t[column] for t in trials if t[column] is not None]


def _sum(trials: Sequence[Row], column: str) -> int | None:
    known = _known(trials, column)
    return sum(known) if known else None


def _calls(trials: Sequence[Row]) -> Row:
    """Calls that passed the gateway, by kind: turns and side calls; of both, those that failed and those that repeat
    a failed one; and those that were refused. `known`: trials in which they were counted."""
    return {
        **{kind: _sum(trials, f"{kind}_calls") for kind in _CALLS},
        "known": len(_known(trials, "turn_calls")),
    }


def _tokens(started: Sequence[Row], column: str) -> Row:
    """A sum of tokens with how many started trials it knows of."""
    total, known = _sum(started, column), len(_known(started, column))
    unknown = len(started) - known
    lower = total is not None and (unknown > 0 or any(t["usage_partial"] for t in started))
    return {"sum": total, "known": known, "unknown": unknown, "lower_bound": lower}


def unpriced(trial: Row) -> bool:
    """Whether a started trial has no cost, and something may have been paid: not where the gateway saw every call, and
    each of them was replayed or failed."""
    return trial["cost_usd"] is None and (trial["turn_calls"] is None or trial["unpriced_calls"] > 0)


def _cost(started: Sequence[Row]) -> Row:
    """Money. `unknown` are trials without any cost; `partial` those of whose calls some have none."""
    usd, unknown = _money(started, "cost_usd"), sum(map(unpriced, started))
    partial = sum(bool(t["cost_partial"]) for t in started)
    return {
        "usd": usd,
        "known": len(_known(started, "cost_usd")),
        "unknown": unknown,
        "partial": partial,
        "lower_bound": usd is not None and bool(unknown or partial),
        "told_usd": _money(started, "told_usd"),
        "computed_usd": _money(started, "priced_usd"),
    }


def _money(trials: Sequence[Row], column: str) -> float | None:
    known = _known(trials, column)
    return math.fsum(known) if known else None


def _replayed(trials: Sequence[Row]) -> Row:
    """What a cassette answered: in how many trials, how many calls, and what they would have cost (null: unknown)."""
    return {
        "trials": sum(t["replayed_calls"] is not None and t["replayed_calls"] > 0 for t in trials),
        "calls": sum(t["replayed_calls"] or 0 for t in trials),
        "usd": _money(trials, "replayed_usd"),
    }


def _middle(trials: Sequence[Row], column: str) -> Row:
    """The median over the trials that have the figure, and how many those are. Nanoseconds."""
    known = _known(trials, column)
    return {"median": round(median(known)) if known else None, "measured": len(known)}


def cost_comparable(a: Row, b: Row) -> str | None:
    """Why the money of two sides (`spending`) cannot be set against each other; null where it can."""
    for label, side in (("A", a), ("B", b)):
        cost, replayed = side["cost"], side["replayed"]["trials"]
        if replayed:
            return f"{replayed} {_trials(replayed)} of {label} {_were(replayed)} replayed"
        if cost["usd"] is None:
            return f"no trial of {label} has a price"
        if lacking := cost["unknown"] + cost["partial"]:
            return f"{lacking} {_trials(lacking)} of {label} {_were(lacking)} not fully priced"
    return None


def _trials(number: int) -> str:
    return "trial" if number == 1 else "trials"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
