"""What a comparison says before its result: what must be known of its runs, its sides, and why there is no verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog.schemas import conversation as c
from eventlog.store import Store
from projections import resampling
from projections.compare import compare
from projections.compare_cautions import _lettered
from tests.projections.compared_runs import begun, placed, plain, ran, spoken
from tests.projections.synthetic_runs import new_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return new_store(tmp_path)


def test_a_model_that_is_not_the_files_is_warned_of(store: Store) -> None:
    """Two runs that both asked for a model that their file does not name would pass for runs of the file's."""
    one, other = (ran(store, {"model": "cheap", "auxiliary": "other_model"}) for _ in range(2))
    comparison = compare(store, one, other)
    assert comparison["like_for_like"]
    said = "A and B: cheap was asked for, and the harness's file names model-alpha."
    assert said in comparison["warnings"]
    for format_ in ("text", "md", "json"):
        assert said in spoken(comparison, format_).replace("\\", "")


def test_a_number_that_is_true_of_both_sides_is_not_their_sum(store: Store) -> None:
    """Three tries that were run again on each side would be read as three in all."""
    assert _lettered(
        [["3 tries were run again"], ["3 tries were run again"]], lambda letters, _: letters
    ) == ["A and B, each: 3 tries were run again"]
    assert _lettered([["so"], ["so"]], lambda letters, _: letters) == ["A and B: so"]


def test_a_runs_own_warnings_stand_in_its_comparison(store: Store) -> None:
    """Figures of a run that was stopped, or that something was said of, would be compared without a word."""
    run = begun(store, harnesses=("alpha", "beta"))
    for trial in run.trials.values():
        plain(run, trial)
    run.event(c.NoteRecorded(level="warning", code="disk_low", text="little room was left"))
    run.event(c.NoteRecorded(level="info", code="hello", text="nothing of note"))
    stopped = run.end(cancelled=True)
    comparison = compare(store, stopped)
    assert f"A and B ({stopped}): disk_low: little room was left" in comparison["warnings"]
    assert any(w.startswith(f"A and B ({stopped}): The run is cancelled") for w in comparison["warnings"])
    assert not any("hello" in warning for warning in comparison["warnings"])


def test_what_concerns_another_harness_alone_is_not_said(store: Store) -> None:
    """Two whole sides would be told to be biased by the missing scores of a third harness."""
    run = begun(store, harnesses=("alpha", "beta", "gamma"))
    for (harness, _, _), trial in run.trials.items():
        if harness == "gamma":
            run.start(trial)
            run.finish(trial, "infra_error")
        else:
            plain(run, trial)
    name = run.end()
    (said,) = compare(store, f"{name}:alpha", f"{name}:beta")["warnings"]
    assert "comparisons can be made" in said


def test_a_side_compared_with_itself_is_said(store: Store) -> None:
    """A slip of the pen would give a page that says `like for like` and p = 1, as a result."""
    run = placed(store, {})
    comparison = compare(store, run, run)
    said = f"A and B are the same side, harness alpha of run {run}: nothing is compared."
    assert comparison["warnings"] == [said]
    for format_ in ("text", "md", "json"):
        assert said in spoken(comparison, format_).replace("\\", "")
    assert compare(store, run, placed(store, {}))["warnings"] == []


def test_several_possible_comparisons_are_said(store: Store) -> None:
    """The best of many comparisons would be shown with the p-value of one."""
    three = placed(store, {}, harnesses=("a", "b", "c"))
    two, one = placed(store, {}, harnesses=("a", "b")), placed(store, {})
    said = "3 comparisons can be made"
    assert any(
        said in w and "not corrected" in w for w in compare(store, f"{three}:a", f"{three}:b")["warnings"]
    )
    assert any(said in warning for warning in compare(store, f"{two}:a", one)["warnings"])
    assert compare(store, two)["warnings"] == []
    many = compare(store, f"{three}:a", f"{two}:b")["warnings"]
    assert any("10 comparisons can be made" in warning for warning in many)


def test_no_verdict_names_its_cause(store: Store) -> None:
    """A reader would look for tasks that are missing where one side's trials are."""
    tasks = [f"t/{i}" for i in range(10)]
    run = begun(store, tasks=tasks, harnesses=("alpha", "beta"), attempts=2)
    for (harness, task, attempt), trial in run.trials.items():
        if harness == "beta" and attempt == 2 and task in tasks[:3]:
            run.start(trial)
            run.finish(trial, "infra_error")
        else:
            plain(run, trial)
    comparison = compare(store, run.end())
    assert comparison["result"]["verdict"] == "withheld"
    assert comparison["result"]["withheld"] == [
        {"cause": "coverage", "side": "b", "number": 17, "of": 20, "share": 0.85, "needed": 0.95}
    ]
    said = "No verdict: 17 of 20 planned trials of B (beta) are scored (85.0 %), and 95 % are needed."
    for format_ in ("text", "md"):
        assert said in spoken(comparison, format_)
    short = placed(store, {}, tasks=tasks[:1], harnesses=("beta",))
    again = compare(store, placed(store, {}, tasks=tasks), short)
    assert "No verdict: 1 of 10 tasks is paired (10.0 %), and 80 % are needed." in spoken(again, "text")


def test_one_point_is_one_point(store: Store) -> None:
    """The page would speak of `under 1 points`, or of a difference `under 0 points`."""
    from hemra.reports.compare_text import detectable

    result = {"difference": 0.0, "smallest_detectable": {"flip_share": 0.1, "assumed": False, "tasks": 9}}
    for value, said in (
        (0.0104, "under 1 point will"),
        (0.004, "under 0.4 points will"),
        (0.27, "under 27 points"),
    ):
        result["smallest_detectable"] |= {"difference": value}  # type: ignore[operator]
        assert said in detectable(result)


def test_a_drawn_p_beside_the_limit_gives_no_verdict(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict would stand that other draws would turn round, and nobody could see that p was drawn at all."""
    found = resampling.SignFlip(0.0497, "drawn", 1_000_000, 0.0006)
    monkeypatch.setattr(resampling, "sign_flip_test", lambda _: found)
    run = begun(store, harnesses=("alpha", "beta"), attempts=2)
    for (harness, _, attempt), trial in run.trials.items():
        run.trial(trial, float(harness == "alpha" or attempt == 1))
    name = run.end()
    comparison = compare(store, name)
    assert comparison["result"]["verdict"] == "withheld"
    assert comparison["result"]["sign_flip"] == {
        "p": 0.0497, "method": "drawn", "draws": 1_000_000, "error": 0.0006,
    }  # fmt: skip
    assert comparison["result"]["withheld"] == [
        {"cause": "drawn", "p": 0.0497, "error": 0.0006, "limit": 0.05}
    ]
    for format_ in ("text", "md"):
        said = spoken(comparison, format_)
        assert "p = 0.050 (1,000,000 draws)" in said
        assert (
            "No verdict: p was drawn and is within 0.0006 of 0.05, so other draws might give another one."
            in said
        )
    monkeypatch.setattr(
        resampling, "sign_flip_test", lambda _: resampling.SignFlip(0.04, "drawn", 100_000, 0.002)
    )
    assert compare(store, name)["result"]["verdict"] == "a"
