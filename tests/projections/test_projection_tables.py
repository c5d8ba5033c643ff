"""The tables: which try counts, what state a trial is in, and that values come through as they were."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eventlog.reader import resolve
from eventlog.schemas import conversation as c
from eventlog.schemas import runs as r
from eventlog.schemas import trials as t
from eventlog.schemas.base import SCHEMAS
from projections import query, sql
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store


def by_trial(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows of the trial table by trial id."""
    return {row["trial"]: row for row in rows}


def test_every_file_says_what_it_reads() -> None:
    """A table would silently miss events whose data was not loaded, or read tables that are not built."""
    known = {kind for kind, _ in SCHEMAS}
    for projection in sql.projections().values():
        body = "\n".join(x for x in projection.text.splitlines() if not x.startswith("--"))
        used = set(re.findall(r"'((?:[a-z]+)\.[a-z_]+)'", body))
        declared = set(projection.reads) | set(projection.counts)
        assert used - declared <= set(), f"{projection.name} uses {used - declared} without declaring them"
        assert declared <= known, f"{projection.name} declares {declared - known}, which no schema has"
        tables = set(re.findall(r"\b(?:FROM|JOIN)\s+([a-z_]+)", body)) & set(sql.projections())
        own = set(re.findall(r"^(?:WITH )?([a-z_]+) AS \($", body, re.MULTILINE))
        assert tables - own <= set(projection.needs), f"{projection.name} needs {tables - own}"
        assert projection.text.startswith(f"-- {projection.name}: one row"), projection.name
        assert len(projection.text.splitlines()) < 200


def test_retry_counts_the_last_try(tmp_path: Path) -> None:
    """The cost, outcome or time of a superseded try would be taken for the trial's own."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.event(c.ModelResponded(model="m", usage=t.Usage(input_tokens=100, cost_usd=0.5)), "0001")
    run.event(c.ToolCalled(call="1", name="sh", arguments={}), "0001")
    run.event(
        t.TrialRetried(
            try_no=1, outcome="provider_error", reason="503", backoff_seconds=1.0, duration_ns=3 * SECOND
        ),
        "0001",
    )
    run.start("0001", 2)
    run.event(c.ModelResponded(model="m", usage=t.Usage(input_tokens=7, cost_usd=0.25)), "0001")
    run.score("0001", "PASS", 1.0, try_no=2)
    run.finish("0001", reward=1.0, try_no=2, agent_ns=None)
    store, name = run.store, run.end()
    trial = query.trials(store, name)[0]
    assert (trial["try_no"], trial["tries"], trial["result"]) == (2, 2, "passed")
    assert (trial["input_tokens"], trial["cost_usd"], trial["tool_calls"]) == (7, 0.25, 0)
    first, second = query.table(store, name, "tries", trial="0001")
    assert (first["state"], first["outcome"], first["duration_ns"]) == (
        "retried",
        "provider_error",
        3 * SECOND,
    )
    assert (first["input_tokens"], first["cost_usd"], first["tool_calls"]) == (100, 0.5, 1)
    assert (first["latest"], second["latest"]) == (False, True)
    retries = query.report(store, name)["harnesses"][0]["retries"]
    told = ("tries", "outcomes", "duration_ns", "cost_usd")
    assert [retries[key] for key in told] == [1, {"provider_error": 1}, 3 * SECOND, 0.5]


def test_resumed_trial_is_not_finished_by_its_older_end(tmp_path: Path) -> None:
    """A cancelled trial that was started again would still count as cancelled, or as finished."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.finish("0001", "cancelled")
    run.event(r.RunCancelled(reason="ctrl-c", finished=0, remaining=4))
    run.event(
        r.RunResumed(pid=2, boot="boot-1", jobs=1, finished=0, remaining=4, interrupted=[]),
    )
    run.start("0001", 2)
    store, name = run.store, run.leave()
    trial = query.trials(store, name)[0]
    assert (trial["state"], trial["outcome"], trial["try_no"]) == ("interrupted", None, 2)
    report = query.report(store, name)
    assert (report["status"], report["sessions"]) == ("incomplete", 2)
    assert report["harnesses"][0]["retries"]["outcomes"] == {"cancelled": 1}
    assert not any("run again" in w for w in report["warnings"]), "going on with a run is not a retry"


def test_finished_without_a_start(tmp_path: Path) -> None:
    """A trial that a cancelled run closed without starting it would vanish."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.finish("0003", "not_started", reason="the budget is spent", agent_ns=None)
    trials = by_trial(query.trials(run.store, run.end(cancelled=True)))
    assert (trials["0003"]["result"], trials["0003"]["tries"]) == ("not_started", 0)
    assert trials["0003"]["reason"] == "the budget is spent"


def test_plan_that_was_not_queued(tmp_path: Path) -> None:
    """A run that died between its plan and its queue would report fewer trials than planned."""
    run = SyntheticRun(new_store(tmp_path), attempts=3).begin(queue=False, start=False)
    store, name = run.store, run.leave()
    trials = query.trials(store, name)
    assert len(trials) == 12
    assert {(x["trial"], x["result"]) for x in trials} == {(None, "not_started")}
    assert sum(p["count"] for p in query.report(store, name)["partition"]) == 12


def test_wall_clock_that_jumps_changes_no_duration(tmp_path: Path) -> None:
    """A duration taken from wall time would be an hour off, or negative."""
    reports, tables = [], []
    for jump in (0, -3600, 3600):
        run = SyntheticRun(new_store(tmp_path / f"jump{jump}")).begin()
        run.start("0001")
        run.pass_time(1.0)
        run.event(c.ToolCalled(call="1", name="sh", arguments={}), "0001")
        run.wall += jump * SECOND
        run.pass_time(1.5)
        run.event(c.ToolReturned(call="1", name="sh", ok=True, result="x"), "0001")
        run.score("0001", "PASS", 1.0)
        run.finish("0001", reward=1.0, seconds=2.5)
        run.trial("0002", 0.0)
        store, name = run.store, run.end()
        reports.append(query.report(store, name))
        tables.append(
            [
                query.trials(store, name),
                query.table(store, name, "tool_calls"),
                query.table(store, name, "timeline"),
            ]
        )
    assert reports[0] == reports[1] == reports[2]
    assert tables[0] == tables[1] == tables[2]
    assert reports[0]["duration_ns"] == 4.5 * SECOND
    assert tables[0][1][0]["duration_ns"] == 1.5 * SECOND


def test_monotonic_clock_of_another_boot(tmp_path: Path) -> None:
    """A run that was resumed after a reboot would last for days, or less than nothing."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.trial("0001", 1.0, seconds=2.0)
    run.mono = 3 * SECOND
    run.event(r.RunResumed(pid=2, boot="boot-2", jobs=1, finished=1, remaining=3, interrupted=[]))
    run.trial("0002", 1.0, seconds=4.0)
    store, name = run.store, run.end()
    assert query.report(store, name)["duration_ns"] == 6 * SECOND
    assert [s["duration_ns"] for s in query.table(store, name, "sessions")] == [2 * SECOND, 4 * SECOND]


def test_clock_that_runs_backwards_gives_no_negative_time(tmp_path: Path) -> None:
    """A broken host's monotonic clock would put negative bars on a chart."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.event(c.ToolCalled(call="1", name="sh", arguments={}), "0001")
    run.mono -= 5
    run.event(c.ToolReturned(call="1", name="sh", ok=True, result="x"), "0001")
    call = query.table(run.store, run.leave(), "tool_calls")[0]
    assert (call["duration_ns"], call["offset_ns"]) == (0, 0)


ODD = {
    "date": "25-11-2025",
    "time": "12:30",
    "moment": "2026-11-30T19:45:12.123456789Z",
    "uuid": "BBD05AE7-0000-4000-8000-000000000000",
    "number": "007",
    "big": 2**63,
    "exact": 0.1,
    "empty": None,
    "nul": "a\0b",
    "quote": 'it\'s "so"',
    "deep": {"a": [1, {"b": "x"}]},
}


def test_values_come_through_as_they_were(tmp_path: Path) -> None:
    """A date, a UUID, a padded number or 2^63 inside a payload would come back rewritten."""
    run = SyntheticRun(new_store(tmp_path), tasks=("25-11-2025", "007", "ünï cødé/with space")).begin()
    run.start("0001")
    for i, arguments in enumerate([ODD, {"date": 5}, {"date": [1]}, {"date": {"x": 1}}, "text", None, 2**70]):
        run.event(c.ToolCalled(call=f"c{i}", name="sh", arguments=arguments), "0001")
    run.event(c.ToolReturned(call="c0", name="sh", ok=None, result=ODD), "0001")
    store, name = run.store, run.leave()
    calls = query.table(store, name, "tool_calls")
    assert calls[0]["arguments"] == ODD
    assert calls[0]["result"] == ODD
    assert [x["arguments"] for x in calls[1:6]] == [
        {"date": 5},
        {"date": [1]},
        {"date": {"x": 1}},
        "text",
        None,
    ]
    assert calls[6]["arguments"] == 2**70
    assert {x["task"] for x in query.trials(store, name)} == {"25-11-2025", "007", "ünï cødé/with space"}


def test_many_different_keys(tmp_path: Path) -> None:
    """A key that first appears late in a long run would be dropped by schema inference."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    for i in range(12_000):
        run.event(c.ToolCalled(call=str(i), name="sh", arguments={f"key{i}": i}), "0001")
    calls = query.table(run.store, run.leave(), "tool_calls")
    assert len(calls) == 12_000
    assert calls[11_999]["arguments"] == {"key11999": 11_999}


def test_large_payloads_stay_references_until_resolved(tmp_path: Path) -> None:
    """A tool's 200 KB answer would be cut, or loaded where nobody asked for it."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.event(c.ToolCalled(call="1", name="sh", arguments={}), "0001")
    run.event(c.ToolReturned(call="1", name="sh", ok=True, result="x" * 200_000), "0001")
    store, name = run.store, run.leave()
    result = query.table(store, name, "tool_calls")[0]["result"]
    assert (result["$blob"][:7], result["size"]) == ("sha256:", 200_000)
    assert resolve(store, result) == "x" * 200_000


def test_call_ids_used_twice(tmp_path: Path) -> None:
    """A harness that repeats a call id would have its results multiplied."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    for i in range(3):
        run.event(c.ToolCalled(call="same", name="sh", arguments=i, turn=i + 1), "0001")
        run.event(c.ToolReturned(call="same", name="sh", ok=True, result=i), "0001")
    run.event(c.ToolCalled(call="lost", name="sh", arguments=9), "0001")
    calls = query.table(run.store, run.leave(), "tool_calls")
    assert [(x["arguments"], x["result"], x["turn"]) for x in calls] == [
        (0, 0, 1),
        (1, 1, 2),
        (2, 2, 3),
        (9, None, None),
    ]
    assert calls[3]["duration_ns"] is None


def test_nonsense_of_a_harness_does_not_stop_the_report(tmp_path: Path) -> None:
    """A price of 1e308, twice, would make the sum infinite and the report impossible to write."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    for trial, cost in (("0001", 1e308), ("0003", 1e308), ("0002", -4.0), ("0004", float("nan"))):
        run.start(trial)
        usage = t.Usage(input_tokens=2**63, cost_usd=cost)
        run.event(c.ModelResponded(model="m", usage=usage), trial)
        run.finish(trial, usage=usage)
    alpha, beta = query.report(run.store, run.end())["harnesses"]
    cost = alpha["cost"]
    assert (cost["usd"], cost["known"], cost["unknown"], cost["lower_bound"]) == (None, 0, 2, False)
    assert beta["cost"]["usd"] is None
    assert alpha["tokens"]["input"] == {"sum": 2**64, "known": 2, "unknown": 0, "lower_bound": False}


def test_score_that_does_not_count_is_kept(tmp_path: Path) -> None:
    """A PASS on a trial whose sandbox broke would either count or be lost."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.score("0001", "PASS", 1.0, reason="file is there")
    run.finish("0001", "sandbox_lost", scored=False, score_status="PASS")
    trial = query.trials(run.store, run.end())[0]
    assert (trial["scored"], trial["reward"], trial["result"]) == (False, None, "sandbox_lost")
    assert (trial["score_status"], trial["score"], trial["score_reason"]) == ("PASS", 1.0, "file is there")


@pytest.mark.parametrize(
    ("status", "reward", "result"),
    [
        ("PASS", 1.0, "passed"),
        ("PASS", 0.5, "passed"),
        ("FAIL", 0.0, "failed"),
        ("FAIL", 1.0, "failed"),
        ("VERIFIER_ERROR", None, "verifier_error"),
        ("SKIPPED", None, "skipped"),
        (None, None, "no_score"),
    ],
)
def test_result_follows_the_scorer(
    tmp_path: Path, status: str | None, reward: float | None, result: str
) -> None:
    """Completion or a bare number would be taken for success."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    if status is not None:
        run.score("0001", status, reward)
    run.finish("0001", reward=reward, score_status=status)
    trial = query.trials(run.store, run.end())[0]
    assert (trial["result"], trial["reward"]) == (result, reward)


def test_other_tables(tmp_path: Path) -> None:
    """The tables that pages and exports are made of would not build or lose rows."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.start("0001")
    run.pass_time(0.5)
    run.event(c.MessageRecorded(role="assistant", text="hello", reasoning="hm", final=True), "0001")
    run.event(t.TrialPhaseFinished(try_no=1, phase="run", duration_ns=9, ok=False, error="it broke"), "0001")
    run.event(c.TelemetryWarned(what="energy", detail="no counter"), "0001")
    run.finish("0001")
    store, name = run.store, run.end()
    message = query.table(store, name, "messages")[0]
    assert (message["text"], message["final"], message["offset_ns"]) == ("hello", True, SECOND // 2)
    assert query.table(store, name, "phases")[0]["error"] == "it broke"
    assert query.table(store, name, "notes")[0]["code"] == "telemetry.energy"
    assert [x["type"] for x in query.table(store, name, "timeline", trial="0001")] == [
        "trial.started",
        "sandbox.created",
        "trial.phase_finished",
        "trial.finished",
    ]
    assert len(query.table(store, name, "enforcement", trial="0001")) == 3
    with pytest.raises(KeyError, match="there are"):
        query.table(store, name, "nothing")
