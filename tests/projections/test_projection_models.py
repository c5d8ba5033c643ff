"""What harnesses took of their models: by the gateway's record, call by call, with nothing counted twice or as 0."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import conversation as c
from eventlog.schemas import trials as t
from hemra.reports.render import render_compare, render_report
from projections import cache, query
from projections.compare import compare
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store

PRICES = {"name": "list", "date": "2026-11-30", "digest": "sha256:" + "a" * 64, "prices": []}


def served_run(path: Path, **more: Any) -> SyntheticRun:
    """A run of one harness whose calls pass the gateway."""
    return SyntheticRun(new_store(path), **({"harnesses": ("alpha",), "served": ("alpha",)} | more)).begin()


def calls_of(run: SyntheticRun, trial: str) -> dict[str, dict[str, Any]]:
    """Rows of a trial's calls by their id."""
    return {row["call"]: row for row in query.table(run.store, run.run, "model_calls", trial=trial)}


def test_every_call_is_a_row(tmp_path: Path) -> None:
    """A call, its model, its times or how it ended would be missing from what a person can look up."""
    run = served_run(tmp_path)
    run.start("0001")
    run.call(
        "0001",
        "m1",
        asked={"context": "sha256:x", "messages": 2},
        priced_usd=0.25,
        prices="list (2026-11-30)",
    )
    run.call(
        "0001",
        "m2",
        status=429,
        ended="error",
        usage=None,
        model=None,
        first_token_ns=None,
        last_token_ns=None,
    )
    run.call("0001", "m3", asked={"retry_of": "m2", "stream": False}, usage=t.Usage(output_tokens=1))
    run.call("0001", "m4", asked={"auxiliary": "no_tools"})
    run.call(
        "0001", "m5", asked={"dialect": None, "auxiliary": "probe", "method": "GET", "path": "/v1/models"}
    )
    run.call("0001", "m6", status=400, ended="refused", usage=None)
    run.call("0001", "m7", answered=False)
    run.finish("0001")
    run.end()
    rows = calls_of(run, "0001")
    kinds = {call: (row["kind"], row["failed"], row["billed"]) for call, row in rows.items()}
    assert kinds == {
        "m1": ("turn", False, True), "m2": ("turn", True, False), "m3": ("turn", False, True),
        "m4": ("side", False, True), "m5": ("other", None, False), "m6": ("refused", None, False),
        "m7": ("turn", None, False),
    }  # fmt: skip
    first = rows["m1"]
    assert (first["asked_model"], first["model"], first["messages"]) == ("m", "m-1", 2)
    assert (first["first_byte_ns"], first["first_token_ns"], first["duration_ns"]) == (
        SECOND // 10, SECOND // 5, SECOND,
    )  # fmt: skip
    assert first["tokens_per_s"] == pytest.approx(22.0)
    assert (first["priced_usd"], first["told_usd"], first["prices"]) == (0.25, None, "list (2026-11-30)")
    assert rows["m3"]["tokens_per_s"] is None, "one token has no speed"
    assert (rows["m3"]["retry_of"], rows["m7"]["ended"], rows["m7"]["answered_seq"]) == ("m2", None, None)


def test_usage_is_the_sum_over_the_calls(tmp_path: Path) -> None:
    """The harness's own account would be added to the gateway's, or failed calls be counted as served."""
    run = served_run(tmp_path)
    run.start("0001")
    run.call("0001", "m1")
    run.call("0001", "m2", ended="cut", usage=t.Usage(input_tokens=9, output_tokens=2))
    run.call(
        "0001", "m3", asked={"auxiliary": "other_model"}, usage=t.Usage(input_tokens=10, output_tokens=1)
    )
    run.event(c.ModelResponded(model="m", usage=t.Usage(input_tokens=5_000, output_tokens=5_000)), "0001")
    run.finish("0001", usage=t.Usage(input_tokens=7_000, output_tokens=7_000, cost_usd=3.0))
    run.trial("0002", 1.0, usage=t.Usage(input_tokens=1, output_tokens=1))
    run.end()
    first, second = query.trials(run.store, run.run)
    assert (first["input_tokens"], first["cache_read_tokens"], first["output_tokens"]) == (110, 40, 12)
    assert (first["failed_input_tokens"], first["failed_output_tokens"]) == (9, 2)
    assert first["cost_usd"] is None, "what the harness says of money is not the gateway's record"
    assert (first["turn_calls"], first["side_calls"], first["failed_calls"], first["model_calls"]) == (
        2,
        1,
        1,
        3,
    )
    assert (second["input_tokens"], second["turn_calls"]) == (1, 0), "a served harness that called no model"


def test_the_last_try_alone_counts(tmp_path: Path) -> None:
    """Calls of a try that was repeated would be added to those of the one that counts: both begin with m1."""
    run = served_run(tmp_path)
    run.start("0001")
    run.call("0001", "m1", priced_usd=0.5)
    run.event(
        t.TrialRetried(try_no=1, outcome="provider_error", reason="x", backoff_seconds=0, duration_ns=1),
        "0001",
    )
    run.start("0001", 2)
    run.call("0001", "m1", priced_usd=0.25)
    run.finish("0001", try_no=2, reward=1.0)
    run.end()
    trial = query.trials(run.store, run.run)[0]
    assert (trial["input_tokens"], trial["cost_usd"], trial["turn_calls"]) == (100, 0.25, 1)
    alpha = query.report(run.store, run.run)["harnesses"][0]
    assert alpha["retries"]["cost_usd"] == 0.5


def test_waiting_for_calls_side_by_side_counts_once(tmp_path: Path) -> None:
    """Two calls at the same time would make a trial wait longer than it ran."""
    run = served_run(tmp_path)
    run.start("0001")
    run.event(c.ModelRequested(model="m", parameters={}, call="m1"), "0001")
    run.pass_time(1)
    run.event(c.ModelRequested(model="m", parameters={}, call="m2"), "0001")
    for call, seconds in (("m1", 3), ("m2", 1)):
        run.event(
            c.ModelResponded(
                model="m", usage=None, call=call, status=200, ended="complete", duration_ns=seconds * SECOND,
                first_token_ns=seconds * SECOND // 10,
            ),
            "0001",
        )  # fmt: skip
    run.pass_time(10)
    run.call("0001", "m3", seconds=2.0)
    run.finish("0001")
    run.end()
    trial = query.trials(run.store, run.run)[0]
    assert trial["model_ns"] == 5 * SECOND
    assert trial["first_token_ns"] == SECOND // 5


@pytest.fixture
def mixed(tmp_path: Path) -> dict[str, Any]:
    """Three trials: one priced, one of a model that no table knows, one of a local model with a price of 0 (C41)."""
    run = served_run(
        tmp_path,
        tasks=("a", "b", "c"),
        harnesses=("alpha", "free"),
        served=("alpha", "free"),
        plan={"prices": PRICES},
    )
    prices = {"a": {"priced_usd": 0.42}, "b": {"model": "mystery"}, "c": {"priced_usd": 0.0}}
    for (harness, task, _), trial in run.trials.items():
        run.start(trial)
        price = {"priced_usd": 0.0} if harness == "free" else prices[task]
        run.call(trial, "m1", prices="list (2026-11-30)", **price)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    run.end()
    return {"run": run, "report": query.report(run.store, run.run)}


def test_a_price_that_is_missing_is_said(mixed: dict[str, Any]) -> None:
    """A total with a hole in it would look complete, and the only priced model the dearest (C41)."""
    alpha, free = mixed["report"]["harnesses"]
    cost = alpha["cost"]
    assert (cost["usd"], cost["known"], cost["unknown"], cost["lower_bound"]) == (0.42, 2, 1, True)
    assert (cost["told_usd"], cost["computed_usd"], cost["unpriced_models"]) == (None, 0.42, ["mystery"])
    assert (free["cost"]["usd"], free["cost"]["lower_bound"]) == (0.0, False)
    assert (
        "alpha: its cost is not whole; list (2026-11-30) does not price every call of mystery."
        in mixed["report"]["warnings"]
    )
    for format_ in ("text", "md"):
        text = render_report(mixed["report"], format_, width=100, colour=False)  # type: ignore[arg-type]
        assert "$0.42 + 1 trial unpriced, computed by list (2026-11-30)" in text
        assert "$0.42+" in text
        assert "$0.00, computed" in text
    rows = list(csv.DictReader(io.StringIO(render_report(mixed["report"], "csv"))))
    assert [r["cost_usd"] for r in rows if r["harness"] == "alpha"] == ["0.42", "", "0.0"]
    assert {r["turn_calls"] for r in rows} == {"1"}


def test_costs_with_holes_are_not_ranked(mixed: dict[str, Any]) -> None:
    """The side with fewer known prices would be told to be the cheaper one."""
    store, run = mixed["run"].store, mixed["run"].run
    comparison = compare(store, run)
    assert comparison["result"]["cost"] == {"usd": None, "withheld": "1 trial of A was not fully priced"}
    assert "not compared: 1 trial of A was not fully priced" in render_compare(comparison, "md")
    mirrored = compare(store, f"{run}:free", f"{run}:alpha")
    assert mirrored["result"]["cost"]["withheld"] == "1 trial of B was not fully priced"


def test_whole_costs_are_compared_and_mirrored(tmp_path: Path) -> None:
    """A difference in cost would depend on the order of the sides."""
    run = served_run(tmp_path, harnesses=("alpha", "beta"), served=("alpha", "beta"))
    for (harness, _, _), trial in run.trials.items():
        run.start(trial)
        run.call(trial, "m1", usage=t.Usage(input_tokens=5, output_tokens=1, cost_usd=0.5), priced_usd=9.0)
        if harness == "beta":
            run.call(trial, "m2", priced_usd=0.25)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    name = run.end()
    one, other = compare(run.store, name), compare(run.store, f"{name}:beta", f"{name}:alpha")
    assert one["result"]["cost"] == {"usd": -0.5, "withheld": None}
    assert other["result"]["cost"] == {"usd": 0.5, "withheld": None}
    beta = one["b"]["matched"]
    assert (beta["cost"]["told_usd"], beta["cost"]["computed_usd"], beta["calls"]["turn"]) == (1.0, 18.5, 4)
    assert "cost, A − B: −$0.50" in render_compare(one, "md")
    assert "$1.50: $1.00 told, $18.50 computed" in render_compare(one, "md")


def test_replayed_calls_cost_nothing_and_say_so(tmp_path: Path) -> None:
    """A run that a cassette answered would pass for money that was spent, or for a cheaper harness."""
    cassette = {"run": "20261129-000000-aaaaaa", "trial": None, "miss": "upstream"}
    run = served_run(tmp_path, plan={"cassette": cassette, "prices": PRICES})
    replayed = {"replayed": "20261129-000000-aaaaaa/0001/m1", "priced_usd": 0.3}
    run.start("0001")
    run.call("0001", "m1", **replayed)
    run.score("0001", "PASS", 1.0)
    run.finish("0001", reward=1.0)
    run.start("0002")
    run.call("0002", "m1", **replayed)
    run.call("0002", "m2", priced_usd=0.1)
    run.score("0002", "PASS", 1.0)
    run.finish("0002", reward=1.0)
    name = run.end()
    first, second = query.trials(run.store, name)
    assert (first["cost_usd"], first["replayed_calls"], first["replayed_usd"]) == (None, 1, 0.3)
    assert (second["cost_usd"], second["cost_partial"], second["replayed_usd"]) == (0.1, False, 0.3)
    report = query.report(run.store, name)
    alpha = report["harnesses"][0]
    assert alpha["replayed"] == {"trials": 2, "calls": 2, "usd": 0.6}
    assert (alpha["cost"]["usd"], alpha["cost"]["unknown"], alpha["cost"]["lower_bound"]) == (0.1, 0, False)
    assert alpha["tokens"]["input"]["sum"] == 300, "the harness was told so many"
    assert any("answered by cassette 20261129-000000-aaaaaa" in w for w in report["warnings"])
    text = render_report(report, "text", width=100, colour=False)
    assert "replayed: 2 trials, $0.60 not spent" in " ".join(text.split())
    comparison = compare(run.store, name, name)
    assert comparison["result"]["cost"]["withheld"] == "2 trials of A were replayed"


def test_a_run_that_was_replayed_whole_shows_no_sum(tmp_path: Path) -> None:
    """Nothing spent would be shown as a price of 0, or as a price that nobody knows."""
    run = served_run(tmp_path, tasks=("a",))
    run.start("0001")
    run.call("0001", "m1", replayed="x/0001/m1")
    run.score("0001", "PASS", 1.0)
    run.finish("0001", reward=1.0)
    report = query.report(run.store, run.end())
    assert report["harnesses"][0]["cost"]["unknown"] == 0
    row = next(x for x in render_report(report, "md").splitlines() if x.startswith("| alpha"))
    assert "replayed" in row
    assert "$" not in row


def test_prices_and_cassettes_are_conditions(tmp_path: Path) -> None:
    """Costs by two price tables, or a replay and the real thing, would be set side by side without a word (X06)."""
    store = new_store(tmp_path)
    runs = []
    for i, plan in enumerate(
        (
            {"prices": PRICES},
            {"prices": PRICES | {"date": "2026-12-01"}, "cassette": {"run": "r", "miss": "error"}},
        )
    ):
        run = SyntheticRun(store, f"20261130-194512-aa000{i}", harnesses=("alpha",), plan=plan).begin()
        run.trial("0001", 1.0)
        runs.append(run.end())
    comparison = compare(store, *runs)
    named = {d["name"]: (d["a"], d["b"]) for d in comparison["conditions"]}
    assert named["prices"] == (
        "list (2026-11-30), sha256:aaaaaaaaaaaa", "list (2026-12-01), sha256:aaaaaaaaaaaa",
    )  # fmt: skip
    assert named["answered by cassette"] == (None, "r")
    assert query.report(store, runs[1])["prices"]["date"] == "2026-12-01"


def test_all_harnesses_have_the_same_columns(tmp_path: Path) -> None:
    """A harness that tells nothing would have 0 calls, or another table than the rest."""
    run = SyntheticRun(
        new_store(tmp_path), tasks=("a",), harnesses=("gated", "told", "mute"), served=("gated",),
        kinds={"mute": "command"},
    ).begin()  # fmt: skip
    for (harness, _, _), trial in run.trials.items():
        run.start(trial)
        if harness == "gated":
            run.call(trial, "m1")
            run.call(trial, "m2", asked={"auxiliary": "no_tools"}, status=500, ended="error", usage=None)
        run.score(trial, "PASS", 1.0)
        usage = t.Usage(input_tokens=7, output_tokens=2) if harness == "told" else None
        run.finish(trial, reward=1.0, usage=usage)
    name = run.end()
    text = render_report(query.report(run.store, name), "text", width=100, colour=False)
    table = text[text.index("Model calls") :].splitlines()[3:6]
    assert [row.split()[2:] for row in table] == [
        ["1", "1", "1", "100", "40", "11", "3"],
        ["—", "—", "—", "7", "—", "2", "—"],
        ["—"] * 7,
    ]
    comparison = compare(run.store, f"{name}:gated", f"{name}:mute")
    words = render_compare(comparison, "text", width=100, colour=False)
    assert "1 + 1 side, 1 failed and —" in words
    row = next(csv.DictReader(io.StringIO(render_compare(comparison, "csv"))))
    assert (row["a_turn_calls"], row["a_input_tokens"], row["b_turn_calls"], row["b_cost_usd"]) == (
        "1",
        "100",
        "",
        "",
    )
    cell = next(csv.DictReader(io.StringIO(render_report(query.report(run.store, name), "csv"))))
    shared = [
        column for column in cell if f"a_{column}" in row and column not in ("planned", "scored", "passed")
    ]
    assert len(shared) == 15
    assert [cell[column] for column in shared] == [row[f"a_{column}"] for column in shared], (
        "one figure, two ways"
    )


def test_calls_rebuild_to_the_same_bytes(tmp_path: Path) -> None:
    """A report of calls would depend on more than the events."""
    run = served_run(tmp_path, tasks=("a", "b", "c"))
    for trial in run.trials.values():
        run.start(trial)
        for i in range(5):
            run.call(trial, f"m{i}", priced_usd=0.1 * i)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    name = run.end()
    cache.load(run.store, name)
    assert cache.replay(run.store, name).identical
