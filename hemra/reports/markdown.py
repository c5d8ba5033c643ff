"""Reports as Markdown (GitHub's tables), for issues, pull requests and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hemra.reports import numbers as n
from hemra.reports.scores import category_cell
from hemra.reports.spent import (
    CALLS_AND_TOKENS,
    RUN_AGAIN,
    calls_and_tokens,
    model_words,
    paid_words,
    run_again,
    short_cost,
)
from projections import words

Row = dict[str, Any]


#: What Markdown or HTML would take for markup, all in one pass: an escape is not escaped again.
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]~#"} | {c: f"&#{ord(c)};" for c in "<>&"})


def cell(value: Any) -> str:
    """Text from outside as it may stand in a table: one line, no markup, no HTML."""
    return n.plain(value).translate(_MARKUP)


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns are (title, `<` or `>`); cells are escaped already."""
    lines = ["| " + " | ".join(title for title, _ in columns) + " |"]
    lines.append("|" + "|".join("---:" if align == ">" else "---" for _, align in columns) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return [*lines, ""]


def _score(estimate: Row) -> str:
    return f"{n.percent(estimate['mean'])}{n.spread(estimate)}"


def report_markdown(report: Row) -> str:
    """The report; the same sections as the text form."""
    dataset = report["dataset"]
    name = f" ({cell(report['name'])})" if report["name"] else ""
    lines = [
        f"# Run {cell(report['run'])}{name}", "",
        f"{cell(report['status']).capitalize()}: {report['scored']} of {report['planned']} planned trials "
        f"scored, {report['passed']} passed.", "",
        f"- dataset: {cell(dataset['name'])}, {n.many(dataset['tasks'], 'task')}, `{n.plain(dataset['digest'])}`",
        f"- attempts: {report['attempts']}, jobs: {report['jobs']}, sandbox: {cell(report['sandbox'])}",
        f"- started: {n.moment(report['started'])}, took {n.duration(report['duration_ns'])}",
        f"- hemra: {cell((report['hemra'] or {}).get('version'))}", "",
    ]  # fmt: skip
    lines += [f"> **Note** {cell(w)}\n" for w in report["warnings"]]
    lines += [*_harnesses(report), *_trials(report), *_categories(report), *_tasks(report), *_rest(report)]
    lines += ["## Words", "", *(f"- **{k}**: {v}" for k, v in words.LEGEND.items()), ""]
    return "\n".join(lines)


def _harnesses(report: Row) -> list[str]:
    columns = [
        ("Harness", "<"), ("Version", "<"), ("Model", "<"), ("Scored", ">"), ("Passed", ">"), ("Strict [95 %]", ">"),
        ("Scored only [95 %]", ">"), ("Agent time (p90)", ">"), ("Model wait", ">"), ("First token", ">"),
        ("Cost", ">"),
    ]  # fmt: skip
    rows = [
        (
            cell(h["name"]), cell(h["version"]), cell(model_words(h["models"]) or None),
            f"{h['scored']}/{h['planned']}", str(h["passed"]),
            _score(h["strict"]), _score(h["scored_only"]),
            f"{n.duration(h['agent_ns']['median'])} ({n.duration(h['agent_ns']['p90'])})",
            n.duration(h["model_ns"]["median"]), n.duration(h["first_token_ns"]["median"]), short_cost(h),
        )
        for h in report["harnesses"]
    ]  # fmt: skip
    called = [[cell(h["name"]), *calls_and_tokens(h)] for h in report["harnesses"]]
    costs = [(h["name"], paid_words(h, report["prices"])) for h in report["harnesses"]]
    return [
        "## Harnesses", "", *table(columns, rows),
        "## Model calls", "",
        *table([("Harness", "<"), *((title, ">") for title in CALLS_AND_TOKENS)], called),
        *(f"- {cell(name)}: {cell(text)}" for name, text in costs if text), *([""] if any(t for _, t in costs) else []),
        *_run_again(report),
    ]  # fmt: skip


def _run_again(report: Row) -> list[str]:
    """What the tries took that do not count."""
    if not report["run_again"]:
        return []
    columns = [("Harness", "<"), *((title, "<" if title == "Why" else ">") for title in RUN_AGAIN)]
    rows = [[cell(h["name"]), *map(cell, run_again(h))] for h in report["harnesses"] if h["retries"]["tries"]]
    return ["## Run again", "", "Tries that do not count.", "", *table(columns, rows)]


def _categories(report: Row) -> list[str]:
    """Strict scores by category of task."""
    if not report["categories"]:
        return []
    columns = [("Category", "<"), ("Tasks", ">"), *((cell(h["name"]), ">") for h in report["harnesses"])]
    rows = [
        [cell(entry["category"]) or "(none)", str(entry["tasks"]), *map(category_cell, entry["harnesses"])]
        for entry in report["categories"]
    ]
    return ["## By category", "", "Strict [95 %].", "", *table(columns, rows)]


def _trials(report: Row) -> list[str]:
    harnesses = report["harnesses"]
    columns = [("Trials", "<"), *((cell(h["name"]), ">") for h in harnesses), ("all", ">"), ("meaning", "<")]
    rows = []
    for part in report["partition"]:
        counts = [
            next((p["count"] for p in h["partition"] if p["result"] == part["result"]), 0) for h in harnesses
        ]
        rows.append([cell(part["label"]), *map(str, counts), str(part["count"]), cell(part["meaning"])])
    rows.append(
        ["**planned**", *(f"**{h['planned']}**" for h in harnesses), f"**{report['planned']}**", "the sum"]
    )
    ended = ", ".join(f"{o['count']} {cell(o['outcome'])}" for o in report["outcomes"])
    return ["## Trials", "", *table(columns, rows), f"How they ended: {ended}.", ""]


def _tasks(report: Row) -> list[str]:
    columns = [("Task", "<"), *((cell(h["name"]), ">") for h in report["harnesses"])]
    rows = [[cell(e["task"]), *(_attempts(c) for c in e["cells"])] for e in report["grid"]]
    return ["## Tasks", "", "Passed of planned; mean reward where it says more.", "", *table(columns, rows)]


def _attempts(c: Row) -> str:
    mean = "" if c["mean"] is None or c["mean"] * c["scored"] == c["passed"] else f" (mean {c['mean']:.2f})"
    missing = "" if c["scored"] == c["planned"] else f", {c['planned'] - c['scored']} not scored"
    return f"{c['passed']}/{c['planned']}{mean}{missing}"


def _rest(report: Row) -> list[str]:
    lines: list[str] = []
    if report["not_scored"]:
        columns = [
            ("Trial", "<"),
            ("Harness", "<"),
            ("Task", "<"),
            ("Attempt", ">"),
            ("Why", "<"),
            ("Reason", "<"),
        ]
        rows = [
            [cell(m["trial"]), cell(m["harness"]), cell(m["task"]), str(m["attempt"]),
             cell(words.result_label(m["result"])), cell(m["reason"])]
            for m in report["not_scored"]
        ]  # fmt: skip
        lines += [f"## Not scored ({len(rows)})", "", *table(columns, rows)]
    if report["limits_fired"]:
        columns = [
            ("Trial", "<"),
            ("Task", "<"),
            ("Limit", "<"),
            ("Value", ">"),
            ("Measured", ">"),
        ]
        rows = [
            [cell(f["trial"]), cell(f["task"]), cell(f["name"]), cell(n.amount(f["value"], f["unit"])),
             cell(n.amount(f["measured"], f["unit"]))]
            for f in report["limits_fired"]
        ]  # fmt: skip
        lines += [f"## Stopped by a limit ({len(rows)})", "", *table(columns, rows)]
    if report["not_enforced"]:
        columns = [("Sandbox", "<"), ("What", "<"), ("Held", "<"), ("By", "<"), ("Trials", ">")]
        rows = [
            [cell(e["sandbox"]), cell(e["name"]), cell(e["status"]), cell(e["by"]), str(e["trials"])]
            for e in report["not_enforced"]
        ]
        lines += ["## What the sandbox did not hold", "", *table(columns, rows)]
    return lines
