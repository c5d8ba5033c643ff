"""A comparison as text for a terminal: what differs in the conditions, then the result, then the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hemra.reports import numbers as n
from hemra.reports.page import definitions, heading, line, table, write
from hemra.reports.spent import cost_words, short_cost, table_rows

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

Row = dict[str, Any]

#: Task lists longer than this are cut in text; json and csv have all.
MAX_LISTED = 60


def render_compare_text(comparison: Row, *, width: int | None = None, colour: bool | None = None) -> str:
    """The whole comparison."""
    parts: list[RenderableType] = [*_sides(comparison), *_banner(comparison), *_warnings(comparison)]
    parts += [*_result(comparison), *_flips(comparison), *_tasks(comparison), *_left_out(comparison)]
    return write(parts, width=width, colour=colour)


def _sides(comparison: Row) -> list[RenderableType]:
    rows = table([("", "<"), ("Harness", "+"), ("Run", "<"), ("Scored", ">"), ("Passed", ">"),
                  ("Strict [95 %]", ">"), ("Scored only [95 %]", ">")])  # fmt: skip
    for label, side in (("A", comparison["a"]), ("B", comparison["b"])):
        version = "" if side["version"] is None else f" {n.shortened(n.plain(side['version']), 12)}"
        rows.add_row(
            line((label, "bold cyan")),
            line((n.shortened(n.plain(side["harness"]), 60), "bold"), (version, "dim")),
            n.plain(side["run"]), f"{side['scored']}/{side['planned']}", str(side["passed"]),
            _estimate(side["strict"]), _estimate(side["scored_only"]),
        )  # fmt: skip
    counts = comparison["counts"]
    matched = (
        f"{n.many(counts['matched'], 'task')} matched · {counts['only_a']} only in A · {counts['only_b']} only in B · "
        f"{counts['unpaired']} not comparable"
    )
    return [rows, line(), line((matched, "bold"))]


def _estimate(estimate: Row) -> Text:
    spread = "" if estimate["low"] is None else f" [{n.interval(estimate['low'], estimate['high'])}]"
    return line((n.percent(estimate["mean"]), ""), (spread, "dim"))


def _banner(comparison: Row) -> list[RenderableType]:
    if comparison["like_for_like"]:
        return [line(("Like for like: the recorded conditions are the same on both sides.", "dim"))]
    rows = table([("", "+"), ("A", "+"), ("B", "+")])
    for c in comparison["conditions"]:
        tasks = f" ({n.many(c['tasks'], 'task')})" if "tasks" in c else ""
        rows.add_row(f"{n.plain(c['name'])}{tasks}", n.quantity(c["a"]), n.quantity(c["b"]))
    return [heading("Not like for like", "these conditions differ"), rows]


def _warnings(comparison: Row) -> list[RenderableType]:
    pairs = [(line(("!", "bold yellow")), line((n.plain(w), "yellow"))) for w in comparison["warnings"]]
    return [line(), definitions(pairs)] if pairs else []


def verdict(comparison: Row) -> str:
    """The result in one sentence."""
    result = comparison["result"]
    a, b = (f"{s} ({n.plain(comparison[k]['harness'])})" for s, k in (("A", "a"), ("B", "b")))
    tasks = n.many(result["tasks"], "task")
    match result["verdict"]:
        case "a":
            return f"{a} is better than {b} on tasks like these: {n.p_value(result['p'])}, {tasks}."
        case "b":
            return f"{b} is better than {a} on tasks like these: {n.p_value(result['p'])}, {tasks}."
        case "undecided":
            these = "One task does" if result["tasks"] == 1 else f"These {tasks} do"
            return f"{these} not tell {a} and {b} apart: {n.p_value(result['p'])}."
        case "withheld":
            return "No verdict: too few of the tasks are scored on both sides (see the warnings above)."
    return "No verdict: no task is scored on both sides."


def detectable(result: Row) -> str:
    """What a comparison of this size cannot see; empty where what was seen is larger than that."""
    d = result["smallest_detectable"]
    if d is None or abs(result["difference"]) >= d["difference"]:
        return ""
    flips = "the spread seen here"
    if d["flip_share"] is not None:
        flips = f"{d['flip_share'] * 100:.0f} % of tasks flipping"
    flips += " (assumed: none did here)" if d["assumed"] else ""
    count = n.many(d["tasks"], "task")
    if d["difference"] >= 1:
        return f"With {count} and {flips}, even the largest possible difference will often be missed."
    return (
        f"With {count} and {flips}, a true difference under {d['difference'] * 100:.0f} points "
        "will often be missed (80 % power, two-sided 5 %)."
    )


def figures(comparison: Row) -> list[tuple[str, str]]:
    """The result's figures as (name, text), in the order in which they are shown."""
    result = comparison["result"]
    found = [("mean reward, A and B", f"{n.percent(result['mean_a'])} and {n.percent(result['mean_b'])}"),
             ("difference A − B", f"{n.points(result['difference'])} points")]  # fmt: skip
    cells = result["paired_table"]
    if cells:
        found += [
            ("95 % interval (Newcombe)", n.points_interval(cells["low"], cells["high"])),
            ("exact McNemar", f"{n.p_value(cells['p'])}  (both {cells['both']}, only A {cells['only_a']}, "
                              f"only B {cells['only_b']}, neither {cells['neither']})"),
        ]  # fmt: skip
    found += [
        ("95 % interval (paired t)", n.points_interval(result["t_low"], result["t_high"])),
        ("sign-flip permutation", n.p_value(result["sign_flip_p"])),
    ]
    return found + _cost_figures(comparison)


def _cost_figures(comparison: Row) -> list[tuple[str, str]]:
    a, b, time = comparison["a"]["matched"], comparison["b"]["matched"], comparison["result"]["agent_time"]
    found = [
        ("agent time, median", f"{n.duration(a['agent_median_ns'])} and {n.duration(b['agent_median_ns'])}"),
    ]
    if time is not None:
        spread = ""
        if time["low_ns"] is not None:
            spread = f"  (95 % bootstrap {_signed(time['low_ns'])} to {_signed(time['high_ns'])})"
        found.append(("agent time, A − B by task", f"{_signed(time['median_ns'])}{spread}"))
    pairs = zip(table_rows(a), table_rows(b), strict=True)
    found += [(name, f"{left} and {right}") for (name, left), (_, right) in pairs]
    found.append(("cost", f"{short_cost(a)} and {short_cost(b)}"))
    for label, side in (("A", comparison["a"]), ("B", comparison["b"])):
        if words := cost_words(side["matched"], side["prices"]):
            found.append((f"cost of {label}", words))
    cost = comparison["result"]["cost"]
    if cost["usd"] is not None:
        found.append(("cost, A − B", f"{'−' if cost['usd'] < 0 else '+'}{n.money(abs(cost['usd']))}"))
    elif a["cost"]["usd"] is not None or b["cost"]["usd"] is not None:
        found.append(("cost, A − B", f"not compared: {cost['withheld']}"))
    return found


def _signed(ns: float) -> str:
    return n.duration(ns) if ns == 0 else ("+" if ns > 0 else "−") + n.duration(abs(ns))


def _result(comparison: Row) -> list[RenderableType]:
    if not comparison["result"]["tasks"]:
        return [heading("Result"), line((verdict(comparison), ""))]
    pairs = [(line((name, "dim")), line((text, ""))) for name, text in figures(comparison)]
    unseen = detectable(comparison["result"])
    return [
        heading("Result", "on the matched tasks, each task weighs the same"), definitions(pairs), line(),
        line((verdict(comparison), "bold")), *([line((unseen, "dim"))] if unseen else []),
    ]  # fmt: skip


def _flips(comparison: Row) -> list[RenderableType]:
    result = comparison["result"]
    parts: list[RenderableType] = []
    for label, tasks, style in (
        ("Only A passes", result["passes_only_on_a"], "green"),
        ("Only B passes", result["passes_only_on_b"], "magenta"),
    ):
        if tasks:
            names = ", ".join(n.plain(task) for task in tasks[:MAX_LISTED])
            more = f" … and {len(tasks) - MAX_LISTED} more" if len(tasks) > MAX_LISTED else ""
            parts += [heading(f"{label} ({len(tasks)})"), line((names + more, style))]
    return parts


def _tasks(comparison: Row) -> list[RenderableType]:
    tasks = comparison["tasks"]
    if not tasks:
        return []
    rows = table([("Task", "+"), ("A", ">"), ("B", ">"), ("A − B", ">"), ("", "<")])
    for t in tasks[:MAX_LISTED]:
        d = t["difference"]
        side = ("A", "green") if d > 0 else ("B", "magenta") if d < 0 else ("=", "dim")
        rows.add_row(n.shortened(n.plain(t["task"]), 120), _attempts(t["a"]), _attempts(t["b"]),
                     n.points(d), line(side))  # fmt: skip
    left = len(tasks) - MAX_LISTED
    more = [line((f"… and {left} more (--format csv has all)", "dim"))] if left > 0 else []
    return [heading("Matched tasks", "passed/scored; mean reward where it says more"), rows, *more]


def _attempts(side: Row) -> str:
    text = f"{side['passed']}/{side['scored']}"
    if side["mean"] is not None and side["mean"] * side["scored"] != side["passed"]:
        text = f"mean {side['mean']:.2f}  {text}"
    return text


def _left_out(comparison: Row) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if comparison["unpaired"]:
        rows = table([("Task", "+"), ("Why", "+"), ("A", "+"), ("B", "+")])
        for u in comparison["unpaired"][:MAX_LISTED]:
            rows.add_row(
                n.shortened(n.plain(u["task"]), 120), n.plain(u["reason"]), _short(u["a"]), _short(u["b"])
            )
        parts += [heading(f"Not comparable ({len(comparison['unpaired'])})"), rows]
    for label, key in (("Only in A", "only_a"), ("Only in B", "only_b")):
        tasks = comparison[key]
        if tasks:
            names = ", ".join(n.plain(task) for task in tasks[:MAX_LISTED])
            parts += [heading(f"{label} ({len(tasks)})"), line((names, ""))]
    return parts


def _short(value: str) -> str:
    return n.short_digest(value) if value.startswith("sha256:") else n.plain(value)
