"""A comparison as text for a terminal: what differs in the conditions, then the result, then the tasks."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from hemra.reports import numbers as n
from hemra.reports.page import definitions, heading, line, table, write
from hemra.reports.spent import cost_words, short_cost, table_rows

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

Row = dict[str, Any]

LIKE_FOR_LIKE = "Like for like: the recorded conditions are the same on both sides."
#: A digest that stands alone or among others.
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

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
        told = made_with(side)
        version = "" if told is None else f" {told}"
        rows.add_row(
            line((label, "bold cyan")),
            line((n.shortened(n.plain(side["harness"]), 60), "bold"), (version, "dim")),
            n.plain(side["run"]), f"{side['scored']}/{side['planned']}", str(side["passed"]),
            _estimate(side["strict"]), _estimate(side["scored_only"]),
        )  # fmt: skip
    return [rows, line(), line((matched(comparison), "bold"))]


def made_with(side: Row) -> str | None:
    """The version of a side's harness, or the several that its trials were made with; None where none is known."""
    if side["versions"] == [None]:
        return None
    return " and ".join("not told" if v is None else n.shortened(n.plain(v), 12) for v in side["versions"])


def matched(comparison: Row) -> str:
    """How many tasks are a pair, and how many are not."""
    counts = comparison["counts"]
    return (
        f"{n.many(counts['matched'], 'task')} matched · {counts['only_a']} only in A · {counts['only_b']} only in B · "
        f"{counts['unpaired']} not comparable"
    )


def estimate(figure: Row) -> tuple[str, str]:
    """A mean and its interval: `85.0 %`, ` [64–95]`."""
    return n.percent(figure["mean"]), n.spread(figure)


def _estimate(figure: Row) -> Text:
    mean, spread = estimate(figure)
    return line((mean, ""), (spread, "dim"))


def _banner(comparison: Row) -> list[RenderableType]:
    if comparison["like_for_like"]:
        return [line((LIKE_FOR_LIKE, "dim"))]
    rows = table([("", "+"), ("A", "+"), ("B", "+")])
    for row in conditions(comparison):
        rows.add_row(*row)
    return [heading("Not like for like", "these conditions differ"), rows]


def conditions(comparison: Row) -> list[tuple[str, str, str]]:
    """The conditions that differ as (name, A, B): a limit with its unit and the number of its tasks, digests short."""
    found = []
    for c in comparison["conditions"]:
        tasks = f" ({n.many(c['tasks'], 'task')})" if "tasks" in c else ""
        found.append((f"{n.plain(c['name'])}{tasks}", _told(c["name"], c["a"]), _told(c["name"], c["b"])))
    return found


def _told(name: str, value: Any) -> str:
    if name.startswith("limit ") and isinstance(value, int | float):
        return n.limit_value(name, value)
    return _DIGEST.sub(lambda found: n.short_digest(found[0]), n.quantity(value))


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
            return f"No verdict: {'; '.join(_lack(cause, comparison) for cause in result['withheld'])}."
    return f"No verdict: {_nothing_paired(comparison)}."


def _lack(cause: Row, comparison: Row) -> str:
    """What there is too little of, how much there is, and how much is needed."""
    if cause["cause"] == "drawn":
        near = f"{cause['error']:.1g} of {cause['limit']:g}"
        return f"p was drawn and is within {near}, so other draws might give another one"
    one = cause["number"] == 1
    if cause["cause"] == "overlap":
        what = f"{cause['number']} of {cause['of']} tasks {'is' if one else 'are'} paired"
    else:
        side = f"{cause['side'].upper()} ({n.plain(comparison[cause['side']]['harness'])})"
        what = f"{cause['number']} of {cause['of']} planned trials of {side} {'is' if one else 'are'} scored"
    return f"{what} ({n.percent(cause['share'])}), and {cause['needed'] * 100:.0f} % are needed"


def _nothing_paired(comparison: Row) -> str:
    counts = Counter(n.plain(u["reason"]) for u in comparison["unpaired"])
    counts.update(
        {f"only in {s.upper()}": len(comparison[f"only_{s}"]) for s in "ab" if comparison[f"only_{s}"]}
    )
    why = ", ".join(f"{reason}: {n.many(count, 'task')}" for reason, count in sorted(counts.items()))
    return f"no task is paired ({why})" if why else "no task is paired"


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
        f"With {count} and {flips}, a true difference under {_points(d['difference'])} "
        "will often be missed (80 % power, two-sided 5 %)."
    )


def _points(share: float) -> str:
    """`27 points`, `1 point`, `0.4 points`."""
    text = f"{share * 100:.0f}" if share >= 0.01 else f"{share * 100:.2g}"
    return f"{text} {'point' if text == '1' else 'points'}"


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
        ("sign-flip permutation", n.p_value(result["sign_flip_p"]) + _drawn(result["sign_flip"])),
    ]
    return found + _cost_figures(comparison)


def _drawn(flip: Row | None) -> str:
    """That a p is no count of all cases."""
    return f"  ({flip['draws']:,} draws)" if flip and flip["method"] == "drawn" else ""


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


def flips(comparison: Row) -> list[tuple[str, list[str]]]:
    """The tasks that only one side passes, as (label, tasks), where there are any."""
    found = [(f"Only {side.upper()} passes", comparison["result"][f"passes_only_on_{side}"]) for side in "ab"]
    return [(label, tasks) for label, tasks in found if tasks]


def _flips(comparison: Row) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for label, tasks in flips(comparison):
        names = ", ".join(n.plain(task) for task in tasks[:MAX_LISTED])
        more = f" … and {len(tasks) - MAX_LISTED} more" if len(tasks) > MAX_LISTED else ""
        style = "green" if label.startswith("Only A") else "magenta"
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
        rows.add_row(n.shortened(n.plain(t["task"]), 120), attempts(t["a"]), attempts(t["b"]),
                     n.points(d), line(side))  # fmt: skip
    left = len(tasks) - MAX_LISTED
    more = [line((f"… and {left} more (--format csv has all)", "dim"))] if left > 0 else []
    return [heading("Matched tasks", "passed/scored; mean reward where it says more"), rows, *more]


def attempts(side: Row) -> str:
    """A task on one side: `1/2`, `mean 0.75  1/2`."""
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
