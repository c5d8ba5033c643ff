"""Comparisons: only like is paired with like, everything else is listed, and the sides can be swapped."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import runs as r
from eventlog.schemas import trials as t
from eventlog.store import Store
from projections import statistics
from projections.compare import compare
from projections.errors import BadComparison, RunNotFound
from tests.projections.synthetic_runs import SECOND, SyntheticRun, new_store

A = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1]
B = [1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1]
TASKS = [f"t/{i:02d}" for i in range(12)]


def filled(store: Store, run: str, reward: Callable[[str, str, int], float | None], **plan: Any) -> str:
    """A finished run; `reward(harness, task, attempt)` is each trial's reward, None an infra error."""
    made = SyntheticRun(store, run, **plan).begin()
    for (harness, task, attempt), trial in made.trials.items():
        value = reward(harness, task, attempt)
        if value is None:
            made.start(trial)
            made.finish(trial, "infra_error")
        else:
            made.trial(trial, value, seconds=2.0 if harness == "alpha" else 3.0)
    return made.end()


def vector(harness: str, task: str, _: int) -> float:
    """The rewards of the reference example."""
    return float((A if harness == "alpha" else B)[TASKS.index(task)])


def mirrored(comparison: dict[str, Any]) -> dict[str, Any]:
    """What a comparison must be after its sides are swapped."""
    result = dict(comparison["result"])
    low, high = result["t_low"], result["t_high"]
    result |= {
        "mean_a": result["mean_b"], "mean_b": result["mean_a"], "difference": -result["difference"],
        "t_low": None if high is None else -high, "t_high": None if low is None else -low,
        "passes_only_on_a": result["passes_only_on_b"], "passes_only_on_b": result["passes_only_on_a"],
        "higher_on_a": result["higher_on_b"], "higher_on_b": result["higher_on_a"],
        "verdict": {"a": "b", "b": "a"}.get(result["verdict"], result["verdict"]),
        "withheld": sorted(
            (w | {"side": {"a": "b", "b": "a"}.get(w["side"])} for w in result["withheld"]),
            key=lambda w: w["side"] or "",
        ),
    }  # fmt: skip
    if result["paired_table"]:
        cells = result["paired_table"]
        result["paired_table"] = cells | {
            "only_a": cells["only_b"], "only_b": cells["only_a"],
            "low": -cells["high"], "high": -cells["low"],
        }  # fmt: skip
    time = result["agent_time"]
    result["agent_time"] = time | {
        "median_ns": -time["median_ns"], "low_ns": -time["high_ns"], "high_ns": -time["low_ns"],
    }  # fmt: skip
    counts = comparison["counts"]
    return comparison | {
        "a": comparison["b"], "b": comparison["a"], "result": result,
        "counts": counts | {"only_a": counts["only_b"], "only_b": counts["only_a"]},
        "only_a": comparison["only_b"], "only_b": comparison["only_a"],
        "conditions": [c | {"a": c["b"], "b": c["a"]} for c in comparison["conditions"]],
        "unpaired": [
            u | {"a": u["b"], "b": u["a"], "reason": u["reason"].translate(str.maketrans("AB", "BA"))}
            for u in comparison["unpaired"]
        ],
        "tasks": [
            x | {"a": x["b"], "b": x["a"], "difference": -x["difference"]} for x in comparison["tasks"]
        ],
        "warnings": sorted(
            re.sub(r"^[AB](?=[:] | [(])", lambda found: {"A": "B", "B": "A"}[found[0]], warning)
            for warning in comparison["warnings"]
        ),
    }  # fmt: skip


def assert_same(left: Any, right: Any, where: str = "") -> None:
    """Deep equality with floats to 1e-9."""
    if isinstance(left, dict):
        assert left.keys() == right.keys(), where
        for key in left:
            assert_same(left[key], right[key], f"{where}.{key}")
    elif isinstance(left, list):
        assert len(left) == len(right), where
        for i, (x, y) in enumerate(zip(left, right, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(left, float) and isinstance(right, int | float):
        assert left == pytest.approx(right, rel=1e-9, abs=1e-12), where
    else:
        assert left == right, where


def test_reference_example(tmp_path: Path) -> None:
    """The comparison would not be the paired one that docs/statistics.md describes."""
    store = new_store(tmp_path)
    run = filled(store, "20261130-194512-aa0001", vector, tasks=TASKS)
    result = compare(store, run)["result"]
    assert (result["tasks"], result["one_attempt"]) == (12, True)
    assert (result["difference"], result["se"]) == (pytest.approx(0.25), pytest.approx(0.130558241967))
    assert (result["t_low"], result["t_high"]) == (pytest.approx(-0.0373567531), pytest.approx(0.5373567531))
    assert result["t_p"] == pytest.approx(0.0818642312)
    assert result["sign_flip_p"] == 0.25
    table = result["paired_table"]
    assert (table["both"], table["only_a"], table["only_b"], table["neither"]) == (5, 3, 0, 4)
    assert table["p"] == 0.25
    newcombe = statistics.newcombe_paired(5, 3, 0, 4) or ()
    assert (table["low"], table["high"]) == newcombe[1:]
    assert result["passes_only_on_a"] == ["t/01", "t/05", "t/09"]
    assert result["passes_only_on_b"] == []
    assert result["verdict"] == "undecided"
    detectable = result["smallest_detectable"]
    assert detectable["flip_share"] == pytest.approx(0.25)
    assert detectable["difference"] == pytest.approx(2.8016 * (0.25 / 12) ** 0.5, rel=1e-4)
    assert result["agent_time"]["median_ns"] == -0.75 * SECOND


def test_swapping_the_sides_mirrors_everything(tmp_path: Path) -> None:
    """A figure would depend on which side was named first."""
    store = new_store(tmp_path)
    rng = random.Random(5)
    draw: dict[tuple[str, str, int], float | None] = {}

    def reward(harness: str, task: str, attempt: int) -> float | None:
        value = rng.choice([0.0, 1.0, 1.0, 0.5, None])
        return draw.setdefault((harness, task, attempt), value)

    names = [f"t/{i:02d}" for i in range(30)]
    one = filled(store, "20261130-194512-aa0001", reward, tasks=names, attempts=2)
    two = filled(
        store,
        "20261130-194512-aa0002",
        lambda h, x, _: reward(h, x, 1),
        tasks=[*names[3:], "x/new"],
        harnesses=("beta",),
        plan={"jobs": 16, "sandbox": "docker"},
    )
    single = filled(store, "20261130-194512-aa0003", vector, tasks=TASKS)
    for left, right in (
        (f"{one}:alpha", f"{one}:beta"),
        (f"{one}:alpha", two),
        (f"{single}:alpha", f"{single}:beta"),
    ):
        forth, back = compare(store, left, right), compare(store, right, left)
        back["warnings"] = sorted(back["warnings"])
        assert_same(mirrored(forth), back)
        assert forth["result"]["difference"] != 0


def test_only_the_same_content_is_paired(tmp_path: Path) -> None:
    """A task that changed, or another scorer, would be averaged in."""
    store = new_store(tmp_path)
    base = filled(store, "20261130-194512-aa0001", vector, tasks=TASKS, harnesses=("alpha",))
    changed = filled(
        store, "20261130-194512-aa0002", vector, tasks=TASKS, harnesses=("alpha",), task_salt="new"
    )
    rescored = filled(
        store, "20261130-194512-aa0003", vector, tasks=TASKS, harnesses=("alpha",), scorer_salt="new"
    )
    for other, reason in ((changed, "task changed"), (rescored, "scorer changed")):
        comparison = compare(store, base, other)
        assert comparison["counts"] == {"matched": 0, "only_a": 0, "only_b": 0, "unpaired": 12, "union": 12}
        assert {u["reason"] for u in comparison["unpaired"]} == {reason}
        assert comparison["unpaired"][0]["a"] != comparison["unpaired"][0]["b"]
        assert comparison["result"]["difference"] is None
        assert comparison["result"]["verdict"] == "none"


def test_unscored_tasks_are_listed_not_averaged(tmp_path: Path) -> None:
    """A trial without a score would count as 0 on one side, or vanish."""
    store = new_store(tmp_path)
    lost = {"alpha": {"t/00"}, "beta": {"t/00", "t/01"}}
    run = filled(
        store,
        "20261130-194512-aa0001",
        lambda h, x, k: None if x in lost[h] else vector(h, x, k),
        tasks=TASKS,
    )
    comparison = compare(store, run)
    assert comparison["counts"]["matched"] == 10
    assert comparison["unpaired"] == [
        {"task": "t/00", "reason": "not scored on either side", "a": "1 infra error", "b": "1 infra error"},
        {"task": "t/01", "reason": "not scored on B", "a": "1 passed", "b": "1 infra error"},
    ]
    assert comparison["result"]["verdict"] == "withheld"
    assert any("only 11 of 12" in w for w in comparison["warnings"])
    assert any("different shares" in w for w in comparison["warnings"])


def test_small_overlap_is_said(tmp_path: Path) -> None:
    """Two runs that share a few tasks would be compared as wholes."""
    store = new_store(tmp_path)
    one = filled(store, "20261130-194512-aa0001", vector, tasks=TASKS[:8], harnesses=("alpha",))
    two = filled(store, "20261130-194512-aa0002", vector, tasks=TASKS[4:], harnesses=("alpha",))
    comparison = compare(store, one, two)
    assert comparison["counts"] == {"matched": 4, "only_a": 4, "only_b": 4, "unpaired": 0, "union": 12}
    assert (comparison["only_a"], comparison["only_b"]) == (TASKS[:4], TASKS[8:])
    assert comparison["warnings"] == ["Only 4 of 12 tasks are paired; the rest may well differ from them."]
    assert comparison["result"]["verdict"] == "withheld"


def test_conditions_that_differ_are_listed(tmp_path: Path) -> None:
    """Numbers with a doubled time limit or 16 jobs would stand beside others as if they were alike."""
    store = new_store(tmp_path)
    one = SyntheticRun(store, "20261130-194512-aa0001", tasks=TASKS, harnesses=("alpha",)).begin()
    for trial in one.trials.values():
        one.trial(trial, 1.0)
    one.end()
    plan = {
        "jobs": 16, "retries": 3, "seed": 8,
        "hemra": {"version": "0.2.0", "harness_files": {"alpha": "x.yaml"}},
        "host": {"system": "Linux", "cpus": 64, "gpu": "none"},
        "harnesses": [
            r.PlannedHarness(
                name="alpha", kind="command", digest="sha256:other", definition={}, version="2.0"
            )
        ],
    }  # fmt: skip
    two = SyntheticRun(store, "20261130-194512-aa0002", tasks=TASKS, harnesses=("alpha",), plan=plan).begin()
    for trial in two.trials.values():
        two.start(trial, limits=r.Limits(wall_seconds=1200.0))
        two.score(trial, "PASS", 1.0)
        two.finish(trial, reward=1.0)
    two.end()
    comparison = compare(store, one.run, two.run)
    assert not comparison["like_for_like"]
    listed = {c["name"]: (c["a"], c["b"]) for c in comparison["conditions"]}
    from tests.projections.synthetic_runs import digest

    assert listed == {
        "harness version": ("1.0", "2.0"), "harness file": (digest("harness alpha"), "sha256:other"),
        "model": ("model-alpha", None), "jobs": (2, 16), "retries": (1, 3), "seed": (7, 8),
        "hemra.version": ("0.1.0", "0.2.0"), "host.cpus": (2, 64), "host.gpu": (None, "none"),
        "limit wall_seconds": (600.0, 1200.0),
    }  # fmt: skip
    assert comparison["conditions"][-1]["tasks"] == 12
    assert comparison["result"]["verdict"] == "undecided"


def test_like_for_like(tmp_path: Path) -> None:
    """Two harnesses of one run, on one model, would be called unlike."""
    store = new_store(tmp_path)
    harnesses = [
        r.PlannedHarness(name=x, kind="command", digest=x, definition={"model": "m"}, version=x)
        for x in ("alpha", "beta")
    ]
    run = filled(store, "20261130-194512-aa0001", vector, tasks=TASKS, plan={"harnesses": harnesses})
    comparison = compare(store, run)
    assert comparison["like_for_like"]
    assert comparison["conditions"] == []


def test_several_attempts(tmp_path: Path) -> None:
    """With several attempts McNemar's test would be made from something that it is not for."""
    store = new_store(tmp_path)
    run = filled(
        store,
        "20261130-194512-aa0001",
        lambda h, x, k: 1.0 if h == "alpha" or k == 1 else 0.0,
        tasks=TASKS,
        attempts=2,
    )
    result = compare(store, run)["result"]
    assert (result["one_attempt"], result["paired_table"]) == (False, None)
    assert (result["difference"], result["sign_flip_p"]) == (0.5, 2 / 2**12)
    assert result["p"] == result["sign_flip_p"]
    assert result["verdict"] == "a"
    assert (result["t_low"], result["t_high"]) == (None, None), "every task differs by the same: no spread"


def test_attempts_that_agree_are_all_or_nothing(tmp_path: Path) -> None:
    """Oracle against nop, two attempts each, would have no interval at all."""
    store = new_store(tmp_path)
    run = filled(store, "20261130-194512-aa0001", lambda h, *_: float(h == "alpha"), tasks=TASKS, attempts=2)
    result = compare(store, run)["result"]
    assert result["paired_table"]["only_a"] == 12
    assert result["paired_table"]["low"] < 0.9 < result["paired_table"]["high"] == 1.0
    assert (result["verdict"], result["p"]) == ("a", 2 / 2**12)


def test_no_difference_assumes_some_flips(tmp_path: Path) -> None:
    """Where nothing flipped, a difference of 0 would be called detectable."""
    store = new_store(tmp_path)
    run = filled(store, "20261130-194512-aa0001", lambda *_: 1.0, tasks=TASKS)
    result = compare(store, run)["result"]
    assert result["smallest_detectable"]["assumed"] is True
    assert result["smallest_detectable"]["difference"] == pytest.approx(2.8016 * (0.1 / 12) ** 0.5, rel=1e-4)
    assert result["verdict"] == "undecided"


def test_sides_that_are_not_clear(tmp_path: Path) -> None:
    """Some two harnesses would be compared when it was not said which."""
    store = new_store(tmp_path)
    three = filled(
        store, "20261130-194512-aa0001", lambda *_: 1.0, tasks=TASKS[:2], harnesses=("a", "b", "c")
    )
    one = filled(store, "20261130-194512-aa0002", lambda *_: 1.0, tasks=TASKS[:2], harnesses=("a",))
    two = filled(store, "20261130-194512-aa0003", lambda *_: 1.0, tasks=TASKS[:2])
    for left, right, said in (
        (three, None, "3 harnesses (a, b, c)"),
        (one, None, "one harness (a)"),
        (three, one, f"say which: {three}:a"),
        (f"{three}:d", one, "no harness 'd'"),
    ):
        with pytest.raises(BadComparison) as caught:
            compare(store, left, right)
        assert said in str(caught.value)
    with pytest.raises(RunNotFound):
        compare(store, "nothing", one)
    assert compare(store, f"{three}:b", one)["a"]["harness"] == "b"
    chosen = compare(store, f"{two}:beta")
    assert (chosen["a"]["harness"], chosen["b"]["harness"]) == ("beta", "alpha")


def test_cost_on_the_matched_tasks(tmp_path: Path) -> None:
    """A side with unknown prices would look cheaper."""
    store = new_store(tmp_path)
    run = SyntheticRun(store, tasks=TASKS[:3]).begin()
    for (harness, task, _), trial in run.trials.items():
        known = harness == "alpha" or task == TASKS[0]
        run.trial(trial, 1.0, usage=t.Usage(cost_usd=0.1) if known else None)
    comparison = compare(store, run.end())
    a, b = (comparison[side]["matched"]["cost"] for side in "ab")
    assert (a["usd"], a["known"], a["unknown"], a["lower_bound"]) == (pytest.approx(0.3), 3, 0, False)
    assert (b["usd"], b["known"], b["unknown"], b["lower_bound"]) == (0.1, 1, 2, True)
    assert comparison["result"]["cost"] == {"usd": None, "withheld": "2 trials of B were not fully priced"}
