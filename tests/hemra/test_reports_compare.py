"""Pages of a comparison: the Markdown says what the page of text says, and neither leaves a figure out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import runs as r
from hemra.reports.render import render_compare
from projections.compare import compare
from tests.projections.synthetic_runs import SyntheticRun, new_store


@pytest.fixture
def graded(tmp_path: Path) -> dict[str, Any]:
    """A comparison with graded means, a limit that differs on one task, a task of one side, and a lost trial."""
    store = new_store(tmp_path)
    runs = []
    for number, tasks in enumerate((("t/a", "t/b", "t/c"), ("t/a", "t/b", "t/d"))):
        run = SyntheticRun(
            store, f"20261130-194512-aa000{number}", tasks=tasks, harnesses=("alpha",), attempts=2
        )
        run.begin()
        for (_, task, attempt), trial in run.trials.items():
            limits = r.Limits(wall_seconds=1200.0) if number and task == "t/a" else None
            reward = 0.25 if task == "t/b" and not number and attempt == 1 else float(number == 0)
            run.start(trial, limits=limits)
            run.score(trial, "PASS" if reward == 1 else "FAIL", reward)
            run.finish(trial, reward=reward)
        runs.append(run.end())
    return compare(store, *runs)


def words_of(comparison: dict[str, Any], format_: str) -> str:
    """A page in one line, without what Markdown escapes."""
    text = render_compare(comparison, format_, width=140, colour=False)  # type: ignore[arg-type]
    return " ".join(re.sub(r"[|*]", " ", text.replace("\\", "")).split())


def test_markdown_says_what_the_text_says(graded: dict[str, Any]) -> None:
    """A comparison that is kept in a file would lack graded means, the tasks of a limit, flips or the sides' scores."""
    for format_ in ("text", "md"):
        said = words_of(graded, format_)
        for part in (
            "mean 0.62 1/2",
            "limit wall_seconds (1 task) 600 s 1200 s",
            "2 tasks matched · 1 only in A · 1 only in B · 0 not comparable",
            "Strict [95 %]",
            "Only A passes (2): t/a, t/b" if format_ == "md" else "Only A passes (2) t/a, t/b",
            "No verdict: 2 of 4 tasks are paired (50.0 %), and 80 % are needed.",
            "mean reward where it says more",
            "t/d",
        ):
            assert part in said, (format_, part)
        for side in ("a", "b"):
            strict = graded[side]["strict"]
            assert f"{strict['mean'] * 100:.1f} %" in said


def test_both_pages_say_like_for_like(tmp_path: Path) -> None:
    """A Markdown page without a table of conditions would leave open whether any were looked at."""
    run = SyntheticRun(new_store(tmp_path), "20261130-194512-aa0001", harnesses=("alpha",)).begin()
    for trial in run.trials.values():
        run.trial(trial, 1.0)
    name = run.end()
    for format_ in ("text", "md"):
        assert "Like for like: the recorded conditions are the same" in words_of(
            compare(run.store, name, name), format_
        )


def test_a_page_without_pairs_says_why(tmp_path: Path) -> None:
    """`No task is scored on both sides` would be said where all are, of another content."""
    store = new_store(tmp_path)
    one = SyntheticRun(store, "20261130-194512-aa0001", harnesses=("alpha",)).begin().end()
    two = SyntheticRun(store, "20261130-194512-aa0002", harnesses=("alpha",), task_salt="x").begin().end()
    comparison = compare(store, one, two)
    for format_ in ("text", "md"):
        assert "No verdict: no task is paired (task changed: 2 tasks)." in words_of(comparison, format_)
        assert "difference A − B" not in words_of(comparison, format_)
