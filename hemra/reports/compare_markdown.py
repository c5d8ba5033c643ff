"""A comparison as Markdown: the same sections and figures as its page of text."""

from __future__ import annotations

from typing import Any

from hemra.reports import numbers as n
from hemra.reports.compare_text import (
    LIKE_FOR_LIKE,
    attempts,
    conditions,
    detectable,
    estimate,
    figures,
    flips,
    made_with,
    matched,
    verdict,
)
from hemra.reports.markdown import cell, table

Row = dict[str, Any]


def compare_markdown(comparison: Row) -> str:
    """The whole comparison; nothing is cut."""
    lines = [
        f"# {cell(comparison['a']['harness'])} and {cell(comparison['b']['harness'])}", "",
        *_sides(comparison), matched(comparison), "", *_conditions(comparison),
    ]  # fmt: skip
    lines += [f"> **Note** {cell(w)}\n" for w in comparison["warnings"]]
    lines += ["## Result", "", *_result(comparison), *_tasks(comparison), *_left_out(comparison)]
    return "\n".join(lines)


def _sides(comparison: Row) -> list[str]:
    columns = [("", "<"), ("Harness", "<"), ("Version", "<"), ("Run", "<"), ("Scored", ">"), ("Passed", ">"),
               ("Strict [95 %]", ">"), ("Scored only [95 %]", ">")]  # fmt: skip
    rows = [
        [label, cell(side["harness"]), cell(made_with(side)), cell(side["run"]),
         f"{side['scored']}/{side['planned']}", str(side["passed"]),
         "".join(estimate(side["strict"])), "".join(estimate(side["scored_only"]))]
        for label, side in (("A", comparison["a"]), ("B", comparison["b"]))
    ]  # fmt: skip
    return table(columns, rows)


def _conditions(comparison: Row) -> list[str]:
    if comparison["like_for_like"]:
        return [LIKE_FOR_LIKE, ""]
    rows = [[cell(each) for each in row] for row in conditions(comparison)]
    columns = [("Condition", "<"), ("A", "<"), ("B", "<")]
    return ["## Not like for like", "", *table(columns, rows)]


def _result(comparison: Row) -> list[str]:
    lines = []
    if comparison["result"]["tasks"]:
        lines += [
            *(f"{_indent(name)}- {name.strip()}: {cell(text)}" for name, text in figures(comparison)),
            "",
        ]
    lines += [f"**{cell(verdict(comparison))}**", ""]
    if unseen := detectable(comparison["result"]):
        lines += [unseen, ""]
    lines += [
        f"- {label} ({len(tasks)}): {', '.join(map(cell, tasks))}" for label, tasks in flips(comparison)
    ]
    return [*lines, ""] if flips(comparison) else lines


def _indent(name: str) -> str:
    return name[: len(name) - len(name.lstrip())]


def _tasks(comparison: Row) -> list[str]:
    if not comparison["tasks"]:
        return []
    columns = [("Task", "<"), ("A", ">"), ("B", ">"), ("A − B", ">")]
    rows = [
        [cell(t["task"]), attempts(t["a"]), attempts(t["b"]), n.points(t["difference"])]
        for t in comparison["tasks"]
    ]
    return [
        "## Matched tasks",
        "",
        "Passed of scored; mean reward where it says more.",
        "",
        *table(columns, rows),
    ]


def _left_out(comparison: Row) -> list[str]:
    rows = [[cell(u["task"]), cell(u["reason"]), cell(u["a"]), cell(u["b"])] for u in comparison["unpaired"]]
    rows += [[cell(task), "only in A", "", ""] for task in comparison["only_a"]]
    rows += [[cell(task), "only in B", "", ""] for task in comparison["only_b"]]
    if not rows:
        return []
    columns = [("Task", "<"), ("Why", "<"), ("A", "<"), ("B", "<")]
    return [f"## Left out ({len(rows)})", "", *table(columns, rows)]
