"""Results by category of task: what a harness is good at, from the ids in the plan alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hemra.reports.render import render_report
from projections import query
from tests.projections.synthetic_runs import SyntheticRun, new_store

TASKS = ("edit/a", "edit/b", "deep/shell/a", "deep/shell/b", "alone")


def report_of(tmp_path: Path, tasks: tuple[str, ...]) -> dict[str, Any]:
    """A run of two harnesses: alpha passes what ends in a, beta nothing; beta's first trial is not scored."""
    run = SyntheticRun(new_store(tmp_path), tasks=tasks).begin()
    for (harness, task, _), trial in run.trials.items():
        if (harness, task) == ("beta", tasks[0]):
            run.start(trial)
            run.finish(trial, "infra_error")
        else:
            run.trial(trial, 1.0 if harness == "alpha" and task.endswith("a") else 0.0)
    return query.report(run.store, run.end())


def test_categories_are_told_apart(tmp_path: Path) -> None:
    """One mean over all kinds of task would hide that a harness fails at a whole kind of them."""
    found = report_of(tmp_path, TASKS)["categories"]
    assert [(c["category"], c["tasks"]) for c in found] == [("edit", 2), ("deep/shell", 2), ("", 1)]
    alpha, beta = found[0]["harnesses"]
    assert (alpha["harness"], alpha["planned"], alpha["scored"], alpha["passed"]) == ("alpha", 2, 2, 1)
    assert (alpha["strict"]["mean"], alpha["strict"]["method"]) == (0.5, "wilson")
    assert (beta["harness"], beta["scored"], beta["strict"]["mean"], beta["scored_only"]["tasks"]) == (
        "beta", 1, 0.0, 1,
    )  # fmt: skip


def test_the_report_has_a_table_of_them(tmp_path: Path) -> None:
    """Who reads text or Markdown would not see them."""
    report = report_of(tmp_path, TASKS)
    text = render_report(report, "text", width=100, colour=False)
    table = text[text.index("By category") :].splitlines()[1:6]
    assert table[0].split() == ["Category", "Tasks", "alpha", "beta"]
    assert table[2].split() == ["edit", "2", "50.0", "%", "[9–91]", "0.0", "%", "[0–66]", "1/2", "scored"]
    assert table[4].split()[:4] == ["(none)", "1", "0.0", "%"]
    assert "| edit | 2 | 50.0 % [9–91] | 0.0 % [0–66] 1/2 scored |" in render_report(report, "md")


@pytest.mark.parametrize("tasks", [("x/a", "x/b"), ("a", "b"), ("x/a", "y/a", "z/b")])
def test_there_is_none_where_it_would_say_nothing(tmp_path: Path, tasks: tuple[str, ...]) -> None:
    """A table of one category, or of one task each, would repeat the others."""
    report = report_of(tmp_path, tasks)
    assert report["categories"] == []
    assert "By category" not in render_report(report, "md") + render_report(report, width=100, colour=False)
