"""Results by category of task. A category is what stands before the last / of a task's id: the plan holds no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from projections.figures import TaskResult, scores

Row = dict[str, Any]


def categories(cells: Sequence[Row]) -> list[Row]:
    """One entry a category with one result a harness, both in the plan's order; `cells` are rows of task_harness.

    Empty where it would say nothing: for one category, and where each has one task. "" is of tasks without any.
    """
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        found[cell["task"].rpartition("/")[0]][cell["harness"]].append(cell)
    sizes = {name: len({c["task"] for own in by.values() for c in own}) for name, by in found.items()}
    if len(found) < 2 or max(sizes.values()) < 2:
        return []
    return [
        {
            "category": name,
            "tasks": sizes[name],
            "harnesses": [_result(harness, own) for harness, own in by.items()],
        }
        for name, by in found.items()
    ]


def _result(harness: str, own: Sequence[Row]) -> Row:
    tasks = [TaskResult(c["planned"], c["scored"], c["passed"], c["reward_sum"] or 0.0) for c in own]
    figures = scores(tasks, {})
    return {
        "harness": harness,
        **{key: sum(c[key] for c in own) for key in ("planned", "scored", "passed")},
        "strict": figures["strict"],
        "scored_only": figures["scored_only"],
    }
