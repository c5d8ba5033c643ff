"""The report: counts that add up, unknown that stays unknown, figures that nobody can misread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import conversation as c
from eventlog.schemas import trials as t
from projections import query
from projections.compare import compare
from projections.figures import TaskResult, estimate, pass_k
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store


def counts(partition: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of a partition by result."""
    return {p["result"]: p["count"] for p in partition}


def known_cost(harness: dict[str, Any]) -> dict[str, Any]:
    """What is known of a harness's cost."""
    return {key: harness["cost"][key] for key in ("usd", "known", "unknown", "lower_bound")}


def test_one_success_among_errors_is_not_a_hundred_percent(tmp_path: Path) -> None:
    """Errored trials dropped before the mean: 39 infra errors and one pass would read as 100 %."""
    tasks = [f"t/{i}" for i in range(10)]
    run = SyntheticRun(new_store(tmp_path), tasks=tasks, harnesses=("alpha",), attempts=4).begin()
    for trial in run.trials.values():
        if trial == "0001":
            run.trial(trial, 1.0)
        else:
            run.start(trial)
            run.finish(trial, "infra_error", reason="no space left")
    report = query.report(run.store, run.end())
    alpha = report["harnesses"][0]
    assert (report["planned"], report["scored"], report["passed"]) == (40, 1, 1)
    assert (report["complete"], report["coverage"]) == (False, 1 / 40)
    assert (alpha["tasks_scored"], alpha["tasks"]) == (1, 10)
    assert alpha["scored_only"]["mean"] == 1.0
    assert alpha["strict"]["mean"] == pytest.approx(0.025)
    assert alpha["bounds"] == {"low": pytest.approx(0.025), "high": 1.0}
    assert len(report["grid"]) == 10
    assert len(report["not_scored"]) == 39
    assert report["not_scored"][0]["reason"] == "no space left"
    assert any("1 of 40 planned trials are scored, on 1 of 10 tasks" in w for w in report["warnings"])


def test_partition_adds_up(tmp_path: Path) -> None:
    """'40 ran, 0 failed' beside 'errors: 1': the counts would not be one partition of what was planned."""
    run = SyntheticRun(new_store(tmp_path), tasks=[f"t/{i}" for i in range(50)], harnesses=("alpha",)).begin()
    plan = (
        [("completed", "PASS", 1.0)] * 20
        + [("completed", "FAIL", 0.0)] * 10
        + [("timeout", "FAIL", 0.0)] * 8
        + [("completed", "VERIFIER_ERROR", None)] * 5
        + [("infra_error", None, None)] * 4
        + [("cancelled", None, None)] * 2
    )
    for trial, (outcome, status, reward) in zip(run.trials.values(), plan, strict=False):
        run.start(trial)
        if status:
            run.score(trial, status, reward)
        run.finish(trial, outcome, reward=reward, score_status=status)
    report = query.report(run.store, run.end())
    expected = {
        "passed": 20, "failed": 18, "verifier_error": 5, "infra_error": 4, "cancelled": 2, "not_started": 1,
    }  # fmt: skip
    assert counts(report["partition"]) == expected
    assert list(counts(report["partition"])) == list(expected)
    assert sum(p["count"] for p in report["partition"]) == report["planned"] == 50
    assert sum(o["count"] for o in report["outcomes"]) == 50
    assert {o["outcome"]: o["count"] for o in report["outcomes"]} == {
        "completed": 35, "timeout": 8, "infra_error": 4, "cancelled": 2, "not_started": 1,
    }  # fmt: skip
    assert sorted(x for p in report["partition"] for x in p["trials"]) == sorted(run.trials.values())
    assert all(p["label"] and p["meaning"] for p in report["partition"])


def test_a_scorer_that_failed_says_why_itself(tmp_path: Path) -> None:
    """A trial that timed out and whose scorer broke would be left unscored for a reason that leaves none unscored."""
    run = SyntheticRun(new_store(tmp_path), tasks=("a",), harnesses=("alpha",)).begin()
    (trial,) = run.trials.values()
    run.start(trial)
    run.score(trial, "VERIFIER_ERROR", None, reason="no answer within 10 s")
    run.finish(trial, "timeout", score_status="VERIFIER_ERROR", reason="wall_seconds limit reached")
    (missing,) = query.report(run.store, run.end())["not_scored"]
    assert (missing["result"], missing["reason"]) == ("verifier_error", "no answer within 10 s")


def test_failures_for_want_of_a_tool_are_told_apart(tmp_path: Path) -> None:
    """A harness without the tool that a task is about would be ranked as if its model had failed."""
    run = SyntheticRun(new_store(tmp_path), tasks=("a", "b"), harnesses=("alpha",)).begin()
    for trial, reward in zip(run.trials.values(), (0.0, 1.0), strict=True):
        run.start(trial)
        run.score(trial, "PASS" if reward else "FAIL", reward)
        run.finish(trial, reward=reward, flags=["no_allowed_tool"])
    (warning,) = query.report(run.store, run.end())["warnings"]
    assert warning.startswith("alpha: in 1 failed trial the harness has none of the tools")


def test_unknown_cost_is_not_zero(tmp_path: Path) -> None:
    """A missing price would read as free, and a total with a hole in it as complete."""
    run = SyntheticRun(
        new_store(tmp_path), tasks=("a", "b", "c"), harnesses=("mixed", "local", "silent")
    ).begin()
    usage = {
        "mixed": [t.Usage(cost_usd=0.42), t.Usage(input_tokens=263_000_000), t.Usage(cost_usd=0.0)],
        "local": [t.Usage(cost_usd=0.0, input_tokens=5)] * 3,
        "silent": [None] * 3,
    }
    for (harness, task, _), trial in run.trials.items():
        run.trial(trial, 1.0, usage=usage[harness]["abc".index(task)])
    mixed, local, silent = query.report(run.store, run.end())["harnesses"]
    assert known_cost(mixed) == {"usd": 0.42, "known": 2, "unknown": 1, "lower_bound": True}
    assert mixed["tokens"]["input"] == {"sum": 263_000_000, "known": 1, "unknown": 2, "lower_bound": True}
    assert known_cost(local) == {"usd": 0.0, "known": 3, "unknown": 0, "lower_bound": False}
    assert known_cost(silent) == {"usd": None, "known": 0, "unknown": 3, "lower_bound": False}
    assert silent["tool_calls"] is None


def test_cost_from_the_answers_of_the_model(tmp_path: Path) -> None:
    """Without a total of the harness the cost would be lost, or a partly priced one be shown as whole."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha",)).begin()
    run.start("0001")
    run.event(c.ModelResponded(model="m", usage=t.Usage(cost_usd=0.1, output_tokens=3)), "0001")
    run.event(c.ModelResponded(model="m", usage=t.Usage(output_tokens=4)), "0001")
    run.event(c.ModelResponded(model="m", usage=None), "0001")
    run.finish("0001", reward=1.0)
    run.trial("0002", 1.0, usage=t.Usage(cost_usd=0.5))
    alpha = query.report(run.store, run.end())["harnesses"][0]
    assert known_cost(alpha) == {"usd": 0.6, "known": 2, "unknown": 0, "lower_bound": True}
    assert alpha["tokens"]["output"] == {"sum": 7, "known": 1, "unknown": 1, "lower_bound": True}


def test_calls_that_nobody_counted_are_not_zero(tmp_path: Path) -> None:
    """A command tells nothing of its tools: 0 calls beside a protocol harness's 12 would be a false figure."""
    kinds = {"cmd": "command", "nop": "nop", "oracle": "oracle", "speaks": "protocol", "silent": "protocol"}
    run = SyntheticRun(new_store(tmp_path), tasks=["t/a"], harnesses=kinds, kinds=kinds).begin()
    for (harness, _, _), trial in run.trials.items():
        run.start(trial)
        if harness in ("cmd", "speaks"):
            run.event(c.MessageRecorded(role="assistant", text="done", final=True), trial)
        run.finish(trial)
    name = run.end()
    told = {h["name"]: h["tool_calls"] for h in query.report(run.store, name)["harnesses"]}
    assert told == {"cmd": None, "nop": 0, "oracle": 0, "speaks": 0, "silent": None}
    models = {h["name"]: h["model_calls"] for h in query.report(run.store, name)["harnesses"]}
    assert models == {"cmd": None, "nop": 0, "oracle": 0, "speaks": None, "silent": None}
    assert query.trials(run.store, name)[0]["tool_calls"] is None


def test_what_was_told_in_part_is_a_lower_bound(tmp_path: Path) -> None:
    """A harness that lost some of its usage would look cheaper than one that told all."""
    run = SyntheticRun(new_store(tmp_path), tasks=["t/a"], harnesses=["tokens", "money", "all"]).begin()
    flags = {"tokens": ["usage_partial"], "money": ["cost_partial"], "all": []}
    for (harness, _, _), trial in run.trials.items():
        run.start(trial)
        usage = t.Usage(input_tokens=100, output_tokens=5, cost_usd=0.5)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0, usage=usage, flags=flags[harness])
    name = run.end()
    report = query.report(run.store, name)
    bounds = {
        h["name"]: (h["tokens"]["input"]["lower_bound"], h["cost"]["lower_bound"])
        for h in report["harnesses"]
    }
    assert bounds == {"tokens": (True, False), "money": (False, True), "all": (False, False)}
    side = compare(run.store, f"{name}:money", f"{name}:all")
    assert [side[x]["matched"]["cost"]["lower_bound"] for x in "ab"] == [True, False]


def test_pass_k_says_how_many_tasks_it_rests_on() -> None:
    """pass@k over tasks with fewer attempts than k would be invented."""
    tasks = [
        TaskResult(5, 5, 2, 2.0),
        TaskResult(5, 5, 0, 0.0),
        TaskResult(5, 3, 3, 3.0),
        TaskResult(5, 1, 1, 1.0),
    ]
    three = pass_k(tasks, 5)[2]
    assert (three["k"], three["tasks"], three["of"]) == (3, 3, 4)
    assert three["pass_at_k"] == pytest.approx((0.9 + 0 + 1) / 3)
    assert three["pass_hat_k"] == pytest.approx(1 / 3)
    nothing = pass_k([TaskResult(2, 0, 0, 0.0)], 2)
    assert [p["pass_at_k"] for p in nothing] == [None, None]
    assert [p["k"] for p in pass_k(tasks, 20)] == [1, 2, 4, 8, 16, 20]


def test_interval_fits_what_was_measured() -> None:
    """An interval of width 0, or one outside [0, 1], would pretend to knowledge."""
    assert estimate([]) == {"mean": None, "low": None, "high": None, "method": None, "tasks": 0}
    everything = estimate([1.0] * 20)
    assert everything["method"] == "wilson"
    assert everything["low"] == pytest.approx(0.8388748419)
    assert everything["high"] == 1.0
    graded = estimate([2 / 3, 0.0, 1.0, 1 / 3, 0.75])
    assert graded["method"] == "t"
    assert (graded["low"], graded["high"]) == (pytest.approx(0.0668843683), 1.0)
    flat = estimate([0.5, 0.5, 0.5])
    assert (flat["mean"], flat["low"], flat["high"], flat["method"]) == (0.5, None, None, None)
    assert estimate([0.5])["low"] is None


def test_each_task_weighs_the_same(tmp_path: Path) -> None:
    """A task with more scored attempts would pull the mean."""
    run = SyntheticRun(new_store(tmp_path), tasks=("a", "b"), harnesses=("alpha",), attempts=4).begin()
    for (_, task, attempt), trial in run.trials.items():
        if task == "a":
            run.trial(trial, 1.0)
        elif attempt == 1:
            run.trial(trial, 0.0)
    alpha = query.report(run.store, run.end(cancelled=True))["harnesses"][0]
    assert alpha["scored_only"]["mean"] == 0.5
    assert alpha["strict"]["mean"] == 0.5
    assert alpha["rerun_se"] is None


def test_rerun_error_is_given_where_it_can_be(tmp_path: Path) -> None:
    """The error of a re-run on these tasks would be mixed with that over tasks like these."""
    run = SyntheticRun(new_store(tmp_path), tasks=("a", "b"), harnesses=("alpha",), attempts=2).begin()
    for (_, _, attempt), trial in run.trials.items():
        run.trial(trial, float(attempt == 1))
    alpha = query.report(run.store, run.end())["harnesses"][0]
    assert alpha["rerun_se"] == pytest.approx((2 * 0.25) ** 0.5 / 2)


def test_what_was_not_enforced_is_said(tmp_path: Path) -> None:
    """A limit that the sandbox cannot hold would be silently skipped."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha",)).begin()
    run.trial("0001", 1.0, flags=["leftover_processes"])
    run.start("0002")
    run.finish(
        "0002",
        "timeout",
        reward=0.0,
        limit=t.LimitFired(name="wall_seconds", value=600.0, measured=600.7, unit="s"),
        flags=["leftover_processes", "stdout_cut"],
    )
    report = query.report(run.store, run.end())
    assert report["not_enforced"] == [
        {"name": "network", "status": "not enforced", "by": None, "sandbox": "host", "trials": 2},
        {"name": "memory_bytes", "status": "best effort", "by": "rlimit", "sandbox": "host", "trials": 2},
    ]
    assert [(f["flag"], f["count"]) for f in report["flags"]] == [
        ("leftover_processes", 2),
        ("stdout_cut", 1),
    ]
    fired = report["limits_fired"][0]
    assert (fired["trial"], fired["name"], fired["value"], fired["measured"], fired["unit"]) == (
        "0002",
        "wall_seconds",
        600.0,
        600.7,
        "s",
    )


def test_notes_become_warnings(tmp_path: Path) -> None:
    """A clock step or a full disk in mid-run would be recorded and never shown."""
    run = SyntheticRun(new_store(tmp_path), harnesses=("alpha",)).begin()
    for _ in range(3):
        run.event(c.NoteRecorded(level="warning", code="clock.stepped", text="the wall clock was set"))
    run.event(c.NoteRecorded(level="info", code="hint", text="nothing to worry about"))
    for trial in run.trials.values():
        run.trial(trial, 1.0)
    assert query.report(run.store, run.end())["warnings"] == [
        "clock.stepped: the wall clock was set (3 times)"
    ]


def test_different_missingness_is_said(tmp_path: Path) -> None:
    """Two harnesses with different shares of missing scores would be ranked by scored-only figures."""
    run = SyntheticRun(new_store(tmp_path), tasks=[f"t/{i}" for i in range(40)]).begin()
    for trial in run.trials.values():
        if trial == "0002":
            run.start(trial)
            run.finish(trial, "provider_error")
        else:
            run.trial(trial, 1.0)
    warnings = query.report(run.store, run.end())["warnings"]
    assert any("different shares" in w for w in warnings)
    assert not any("Do not rank" in w for w in warnings)


def test_states_of_a_run(tmp_path: Path) -> None:
    """A live, abandoned, cancelled or finished run would be taken for another."""
    store = new_store(tmp_path)
    seen = {}
    live = SyntheticRun(store, "20261130-194512-aa0001").begin()
    live.commit()
    SyntheticRun(store, "20261130-194512-aa0002").begin().leave()
    SyntheticRun(store, "20261130-194512-aa0003").begin().end(cancelled=True)
    SyntheticRun(store, "20261130-194512-aa0004").begin().end()
    runs = query.list_runs(store)
    assert [row["run"][-1] for row in runs] == ["4", "3", "2", "1"]
    seen = {row["run"][-1]: row["status"] for row in runs}
    assert seen == {"1": "running", "2": "incomplete", "3": "cancelled", "4": "finished"}
    live.leave()
    assert query.list_runs(store)[-1]["status"] == "incomplete"
    assert query.report(store, "20261130-194512-aa0003")["cancel_reason"] == "ctrl-c"


def test_references_to_runs(tmp_path: Path) -> None:
    """A wrong or double reference would pick some run."""
    from projections.errors import RunNotFound

    store = new_store(tmp_path)
    for i, name in enumerate(("first", "same", "same")):
        SyntheticRun(store, f"2026113{i}-194512-aa0001", plan={"name": name}).begin().end()
    assert query.resolve_run(store, "20261130-194512-aa0001") == "20261130-194512-aa0001"
    assert query.resolve_run(store, "20261131") == "20261131-194512-aa0001"
    assert query.resolve_run(store, "first") == "20261130-194512-aa0001"
    for reference in ("2026", "same", "nothing", ""):
        with pytest.raises(RunNotFound):
            query.resolve_run(store, reference)


def test_show_has_every_trial(tmp_path: Path) -> None:
    """`hemra show` would leave trials out, or not say how the run stands."""
    run = SyntheticRun(new_store(tmp_path)).begin()
    run.trial("0001", 1.0)
    shown = query.show(run.store, run.leave())
    assert shown["schema"] == "hemra.run/1"
    assert (shown["status"], shown["planned"], shown["scored"]) == ("incomplete", 4, 1)
    assert [x["trial"] for x in shown["trials"]] == ["0001", "0002", "0003", "0004"]
    assert [h["name"] for h in shown["harnesses"]] == ["alpha", "beta"]


def test_agent_time_quantiles(tmp_path: Path) -> None:
    """The median or the 90th percentile would come from another clock or another set of trials."""
    run = SyntheticRun(new_store(tmp_path), tasks=[f"t/{i}" for i in range(11)], harnesses=("alpha",)).begin()
    for i, trial in enumerate(run.trials.values()):
        run.trial(trial, 1.0, agent_ns=i * SECOND if i < 10 else None)
    alpha = query.report(run.store, run.end())["harnesses"][0]
    assert alpha["agent_ns"] == {"median": 4.5 * SECOND, "p90": 8.1 * SECOND, "measured": 10}
