"""The report of one run as plain data, from the projected tables. A pure function of events.

Nothing here reads a clock, rounds a figure, or depends on the order of a dict: the same events make the
same report, byte for byte. Durations are nanoseconds, money is US dollars, unknown is null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eventlog.schemas.base import SCHEMAS
from projections import words
from projections.categories import categories
from projections.figures import TaskResult, pass_k, scores
from projections.handicaps import handicaps
from projections.models import models_of
from projections.repaired import repaired
from projections.report_warnings import report_warnings
from projections.spending import again_columns, paid, run_again, spending
from projections.sql import rows

if TYPE_CHECKING:
    import duckdb

SCHEMA = "hemra.report/1"
#: The tables a report is made of.
TABLES = (
    "run", "trials", "tries", "superseded", "usage", "enforcement", "models", "notes", "repairs", "harness",
    "task_harness",
)  # fmt: skip

Row = dict[str, Any]

#: What is told of each try that was run again: columns of tables/superseded.sql.
_AGAIN = (
    "trial", "harness", "task", "attempt", "try_no", "outcome", "reason", "duration_ns", "agent_ns", "turn_calls",
    "side_calls", "input_tokens", "output_tokens", "cost_usd", "cost_partial", "unpriced_calls", "replayed_calls",
)  # fmt: skip


def make_report(connection: duckdb.DuckDBPyConnection, trials: list[Row]) -> Row:
    """The report from a connection with `TABLES`; `trials` are the rows of that table."""
    run = rows(connection, "SELECT * FROM run")[0]
    harnesses = rows(connection, "SELECT * FROM harness ORDER BY harness_no")
    cells = rows(connection, "SELECT * FROM task_harness ORDER BY task_no, harness_no")
    superseded = rows(connection, "SELECT * FROM superseded ORDER BY first_seq")
    last = rows(connection, "SELECT last FROM snapshot")[0]["last"]
    unpriced = _unpriced_models(connection)
    called = rows(connection, "SELECT * FROM models")
    parts = [
        _harness(h, run, trials, cells, superseded, unpriced[h["harness"]])
        | {"models": models_of(called, h["harness"], h["model"])}
        for h in harnesses
    ]
    scored = sum(t["scored"] for t in trials)
    report = {
        "schema": SCHEMA,
        **_header(run, last),
        "repaired": repaired(rows(connection, "SELECT * FROM repairs")),
        "planned": len(trials),
        "scored": scored,
        "passed": sum(t["result"] == "passed" for t in trials),
        "coverage": scored / len(trials) if trials else None,
        "complete": scored == len(trials),
        "partition": _partition(trials),
        "outcomes": _outcomes(trials),
        "harnesses": parts,
        "categories": categories(cells),
        "grid": _grid(cells, trials, superseded),
        "run_again": [{key: x[key] for key in _AGAIN} for x in superseded],
        "not_scored": [_reason(t) for t in trials if not t["scored"]],
        "not_enforced": _not_enforced(rows(connection, "SELECT * FROM enforcement"), trials),
        "limits_fired": [_fired(t) for t in trials if t["limit_fired"]],
        "flags": _flags(trials),
    }
    report["warnings"] = [
        *report_warnings(report, rows(connection, "SELECT * FROM notes"), _too_new(connection)),
        *(f"{name}: {text}" for name, text in handicaps(trials)),
    ]
    return report


def _header(run: Row, last: int) -> Row:
    return {
        "run": run["run"],
        "name": run["name"],
        "status": run["status"],
        "cancel_reason": run["cancel_reason"],
        "events": last,
        "started": run["planned_at"],
        "duration_ns": run["duration_ns"],
        "sessions": run["sessions"],
        "dataset": {
            "name": run["dataset"], "digest": run["dataset_digest"], "source": run["dataset_source"],
            "tasks": run["tasks"],
        },
        "sandbox": run["sandbox"],
        "attempts": run["attempts"],
        "jobs": run["jobs"],
        "retries": run["retries"],
        "seed": run["seed"],
        "limits": run["limits"],
        "prices": run["prices"],
        "cassette": run["cassette"],
        "record_cassette": run["record_cassette"],
        "hemra": run["hemra"],
        "host": run["host"],
    }  # fmt: skip


def _unpriced_models(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Models without a price whose calls may have cost something, by harness; sorted."""
    found = rows(
        connection,
        "SELECT DISTINCT t.harness, coalesce(u.model, c.asked_model) AS model FROM usage AS u "
        "JOIN model_calls AS c ON c.answered_seq = u.seq JOIN tries AS x ON x.first_seq = u.first_seq "
        "JOIN trials AS t ON t.trial = u.trial WHERE u.unpriced AND x.latest ORDER BY ALL",
    )
    models: dict[str, list[str]] = defaultdict(list)
    for row in found:
        if row["model"] is not None:
            models[row["harness"]].append(row["model"])
    return models


def _harness(
    h: Row, run: Row, trials: list[Row], cells: list[Row], superseded: list[Row], unpriced: list[str]
) -> Row:
    name = h["harness"]
    own = [t for t in trials if t["harness"] == name]
    tasks = [
        TaskResult(c["planned"], c["scored"], c["passed"], c["reward_sum"] or 0.0)
        for c in cells
        if c["harness"] == name
    ]
    rewards: dict[str, list[float]] = defaultdict(list)
    for trial in own:
        if trial["scored"]:
            rewards[trial["task"]].append(trial["reward"])
    spent, again = spending(own), run_again([x for x in superseded if x["harness"] == name])
    return {
        "name": name,
        "kind": h["kind"],
        "version": h["version"],
        "digest": h["digest"],
        "model": h["model"],
        "planned": h["planned"],
        "started": h["started"],
        "finished": h["finished"],
        "scored": h["scored"],
        "passed": h["passed"],
        "coverage": h["scored"] / h["planned"] if h["planned"] else None,
        "tasks": len(tasks),
        "tasks_scored": sum(t.scored > 0 for t in tasks),
        **scores(tasks, rewards),
        "pass_k": pass_k(tasks, run["attempts"]),
        "partition": _partition(own),
        "outcomes": _outcomes(own),
        "served": h["served"],
        **spent,
        "cost": spent["cost"] | {"unpriced_models": unpriced},
        "agent_ns": {
            "median": h["agent_median_ns"], "p90": h["agent_p90_ns"], "measured": h["agent_measured"],
        },
        "tool_calls": h["tool_calls"],
        "model_calls": h["model_calls"],
        "retries": again,
        "paid": paid(spent["cost"], again["cost"]),
    }  # fmt: skip


def _partition(trials: Sequence[Row]) -> list[Row]:
    """Every trial in exactly one class, so that the counts add up to the trials given."""
    members: dict[str, list[Row]] = defaultdict(list)
    for trial in trials:
        members[trial["result"]].append(trial)
    return [
        {
            "result": result,
            "label": words.result_label(result),
            "meaning": words.RESULTS.get(result, ("", ""))[1],
            "count": len(members[result]),
            "trials": [t["trial"] for t in members[result] if t["trial"] is not None],
        }
        for result in sorted(members, key=words.result_order)
    ]


def _outcomes(trials: Sequence[Row]) -> list[Row]:
    """How the trials ended; one that has no outcome stands under its state."""
    order = [*words.OUTCOMES, *words.RESULTS]
    counted = _counted(trials, lambda t: t["outcome"] if t["outcome"] is not None else t["state"])
    known = [name for name in order if name in counted]
    return [{"outcome": n, "count": counted[n]} for n in [*known, *sorted(set(counted) - set(known))]]


def _counted(items: Sequence[Row], key: Callable[[Row], str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for item in items:
        counts[key(item)] += 1
    return dict(sorted(counts.items()))


def _grid(cells: list[Row], trials: list[Row], superseded: list[Row]) -> list[Row]:
    """One entry a task, with one cell a harness, both in the plan's order."""
    results: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for trial in trials:
        results[trial["task"], trial["harness"]].append(trial)
    again: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for one in superseded:
        again[one["task"], one["harness"]].append(one)
    grid: dict[str, Row] = {}
    for cell in cells:
        task = grid.setdefault(
            cell["task"],
            {"task": cell["task"], "task_digest": cell["task_digest"], "scorer_digest": cell["scorer_digest"],
             "cells": []},
        )  # fmt: skip
        own = results[cell["task"], cell["harness"]]
        task["cells"].append(
            {
                "harness": cell["harness"],
                "planned": cell["planned"],
                "scored": cell["scored"],
                "passed": cell["passed"],
                "mean": cell["mean"],
                "results": {p["result"]: p["count"] for p in _partition(own)},
                "agent_median_ns": cell["agent_median_ns"],
                "turn_calls": cell["turn_calls"],
                "side_calls": cell["side_calls"],
                "failed_calls": cell["failed_calls"],
                "input_tokens": cell["input"],
                "cache_read_tokens": cell["cache_read"],
                "output_tokens": cell["output"],
                "reasoning_tokens": cell["reasoning"],
                "cost_usd": cell["cost_usd"],
                "told_usd": cell["told_usd"],
                "computed_usd": cell["priced_usd"],
                "cost_unknown": cell["cost_unknown"],
                "replayed_calls": cell["replayed_calls"],
                "model_median_ns": cell["model_median_ns"],
                "first_token_median_ns": cell["first_token_median_ns"],
                **again_columns(own, again[cell["task"], cell["harness"]]),
            }
        )
    return list(grid.values())


def _reason(trial: Row) -> Row:
    """Why a trial has no counted score: what it ended with, or what the scorer said of its own failure."""
    keys = ("trial", "harness", "task", "attempt", "result", "outcome", "score_status", "score")
    ended, scorers = trial["reason"], trial["score_reason"]
    reason = (scorers or ended) if trial["result"] == "verifier_error" else (ended or scorers)
    return {**{k: trial[k] for k in keys}, "reason": reason}


def _fired(trial: Row) -> Row:
    """Which limit ended a trial: its name, its value, what was measured, and the unit of both."""
    return {
        **{k: trial[k] for k in ("trial", "harness", "task", "attempt", "outcome")},
        **trial["limit_fired"],
    }


def _not_enforced(enforcement: list[Row], trials: list[Row]) -> list[Row]:
    """What sandboxes did not hold, or held only as best they could, with the number of trials it concerns."""
    concerned: dict[tuple[str, str, str, str | None], set[str]] = defaultdict(set)
    spoken: set[tuple[str, str]] = set()
    for e in enforcement:
        spoken.add((e["trial"], e["name"]))
        if e["status"] != "enforced":
            concerned[e["sandbox"], e["name"], e["status"], e["by"]].add(e["trial"])
    for trial in trials:
        why = trial["why_not_enforced"] or {}
        for name in trial["not_enforced"] or []:
            if (trial["trial"], name) not in spoken:
                concerned["", name, "not enforced", why.get(name)].add(trial["trial"])
    order = sorted(concerned, key=lambda k: (k[2] != "not enforced", k[1], k[0], k[3] or ""))
    return [
        {"name": k[1], "status": k[2], "by": k[3], "sandbox": k[0] or None, "trials": len(concerned[k])}
        for k in order
    ]


def _flags(trials: list[Row]) -> list[Row]:
    members: dict[str, list[str]] = defaultdict(list)
    for trial in trials:
        for flag in trial["flags"] or []:
            members[flag].append(trial["trial"])
    return [{"flag": flag, "count": len(members[flag]), "trials": members[flag]} for flag in sorted(members)]


def _too_new(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Event types that a later hemra wrote in a version that this one does not know."""
    newest: dict[str, int] = {}
    for kind, v in SCHEMAS:
        newest[kind] = max(v, newest.get(kind, 0))
    found = rows(connection, "SELECT DISTINCT type, v FROM events WHERE data IS NOT NULL ORDER BY type, v")
    return [f"{f['type']} version {f['v']}" for f in found if f["v"] > newest.get(f["type"], f["v"])]
