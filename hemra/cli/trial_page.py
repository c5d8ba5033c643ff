"""One trial of a run for `hemra show RUN/TRIAL`: how it ended, what it took, and every call of its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hemra.cli.artifacts import kept, line_of, plain_data
from hemra.cli.context import settings
from hemra.cli.output import note, print_facts, print_json, print_table, say
from hemra.cli.stores import check_trials
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from eventlog.store import Store

Row = dict[str, Any]

#: Columns of the listing of calls.
_COLUMNS = [
    Column("call"), Column("kind"), Column("model", least=8), Column("ended", least=6), Column("in", right=True),
    Column("cached", right=True, drop=3), Column("out", right=True), Column("reasoning", right=True, drop=6),
    Column("cost", right=True), Column("first token", right=True, drop=1), Column("tokens/s", right=True, drop=5),
    Column("time", right=True), Column("repeats", drop=4), Column("replayed", least=8, drop=2),
]  # fmt: skip


def show_trial(store: Store, run: str, trial: str, *, as_json: bool) -> None:
    """Print it. Raises NotFound for a trial that the run does not have."""
    from hemra.errors import NotFound
    from hemra.reports.numbers import many
    from projections import query

    check_trials(store, run, (trial,))
    document = query.show_trial(store, run, trial)
    if document is None:
        raise NotFound(f"run {run} has no trial {trial!r}; `hemra show {run}` lists them")
    first = document["trial"]["first_seq"]
    left = [] if first is None else [a for a in kept(store, run, (trial,), start=first) if a.latest]
    if as_json:
        print_json(document | {"artifacts": [plain_data(a) for a in left]})
        return
    calls = document["calls"]
    more = [("artifacts", line_of(left, f"{run}/{trial}"))] if left else []
    print_facts([*_facts(document, run, calls), *more])
    if not calls:
        note("no call of a model passed the gateway")
    else:
        say()
        shown = [column for column in _COLUMNS if not _empty(column.title, calls)]
        rows = [_call_row(call) for call in calls]
        print_table(shown, [[row[c.title] for c in shown] for row in rows], whole=settings().verbose > 0)
        note(f"{many(len(calls), 'call')}; `hemra tail {run} --trial {trial}` has what was said")


def _empty(column: str, calls: list[Row]) -> bool:
    """Whether a column that few trials need has nothing to show."""
    if column == "repeats":
        return all(call["retry_of"] is None for call in calls)
    return column == "replayed" and all(call["replayed"] is None for call in calls)


def _facts(document: Row, run: str, calls: list[Row]) -> list[tuple[str, Any]]:
    from hemra.reports.numbers import UNKNOWN, count, duration, money

    trial, again = document["trial"], document["run_again"]
    points = "" if trial["score"] is None else f" {trial['score']:g}"
    counts = "" if trial["scored"] else " (does not count)"
    score = None if trial["score_status"] is None else f"{trial['score_status']}{points}{counts}"
    cached = "" if trial["cache_read_tokens"] is None else f" ({count(trial['cache_read_tokens'])} cached)"
    reasoned = "" if trial["reasoning_tokens"] is None else f" ({count(trial['reasoning_tokens'])} reasoning)"
    cost = money(trial["cost_usd"], bool(trial["cost_partial"]))
    if trial["replayed_calls"]:
        spared = "" if trial["replayed_usd"] is None else f", {money(trial['replayed_usd'])} not spent"
        cost = f"{cost} (replayed{spared})" if trial["cost_usd"] is not None else f"replayed{spared}"
    paid = document["paid"]
    if again and paid["usd"] is not None:
        cost = f"{cost} (paid in all {money(paid['usd'], paid['lower_bound'])})"
    return [
        ("trial", f"{run}/{trial['trial']}"),
        ("harness", trial["harness"]),
        ("task", f"{trial['task']}, attempt {trial['attempt']}"),
        ("outcome", trial["outcome"] or trial["state"]),
        ("reason", trial["reason"]),
        ("score", score),
        ("scorer", trial["score_reason"]),
        ("time", f"{duration(trial['agent_ns'])} agent, {duration(trial['model_ns'])} waiting for the model"),
        (
            "tokens",
            f"{count(trial['input_tokens'])} in{cached}, {count(trial['output_tokens'])} out{reasoned}",
        ),
        ("cost", UNKNOWN if cost is None else cost),
        *_tries(trial, again),
        *_source(trial, calls),
    ]


def _tries(trial: Row, again: list[Row]) -> list[tuple[str, Any]]:
    """Which try it is, and those before it, where there are any."""
    from hemra.reports.retried import try_words

    if not again:
        return []
    return [("try", trial["try_no"]), *((f"try {one['try_no']}", try_words(one)) for one in again)]


def _source(trial: Row, calls: list[Row]) -> list[tuple[str, Any]]:
    """Which recorded trial answered."""
    found = {call["replayed"].rpartition("/")[0] for call in calls if call["replayed"] is not None}
    return [("replayed from", ", ".join(sorted(found)))] if trial["replayed_calls"] else []


def _call_row(call: Row) -> Row:
    from hemra.reports.numbers import count, duration, money

    cost = call["told_usd"] if call["told_usd"] is not None else call["priced_usd"]
    ended = call["ended"] or "open"
    if call["status"] is not None and call["status"] >= 400:
        ended = f"{ended} {call['status']}"
    kind = call["auxiliary"] if call["kind"] in ("side", "other") and call["auxiliary"] else call["kind"]
    return {
        "call": call["call"], "kind": kind, "model": call["model"] or call["asked_model"], "ended": ended,
        "in": count(call["input_tokens"]), "cached": count(call["cache_read_tokens"]),
        "out": count(call["output_tokens"]), "reasoning": count(call["reasoning_tokens"]), "cost": money(cost),
        "first token": duration(call["first_token_ns"]), "tokens/s": count(call["tokens_per_s"]),
        "time": duration(call["duration_ns"]), "repeats": call["retry_of"],
        "replayed": None if call["replayed"] is None else call["replayed"].rpartition("/")[2],
    }  # fmt: skip
