"""The report of a run as text for a terminal: made to be read at 100 columns, without colour if need be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hemra.reports import numbers as n
from hemra.reports.page import WIDTH, definitions, heading, line, page_width, table, write
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

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

Row = dict[str, Any]

STATUS_STYLE = {"finished": "green", "running": "cyan", "cancelled": "yellow", "incomplete": "yellow"}
RESULT_STYLE = {"passed": "green", "failed": "red"}
MARKS = {"passed": "●", "failed": "○"}
UNSCORED_MARK = "·"
#: At most this many unscored trials are listed one by one.
MAX_LISTED = 40
#: Columns that a task's name has at least.
MIN_TASK = 30


def render_text(report: Row, *, width: int | None = None, colour: bool | None = None) -> str:
    """The whole report."""
    width = width or page_width()
    names = _column_names(report, width)
    parts: list[RenderableType] = [
        *_header(report),
        *_warnings(report),
        *_models(report, names),
        *_harnesses(report, names, width),
        *_pass_k(report, names),
    ]
    parts += [
        *_trials(report, names),
        *_categories(report, names),
        *_tasks(report, names, width),
        *_not_scored(report),
        *_limits(report),
        *_not_enforced(report),
    ]
    return write([*parts, *_legend(report)], width=width, colour=colour)


def _column_names(report: Row, width: int) -> dict[str, str]:
    """What stands over each harness's column: its name, or a number where the names would not fit."""
    names = [n.plain(h["name"]) for h in report["harnesses"]]
    fits = 40 + sum(max(len(name), 12) + 3 for name in names) <= width
    return {
        h["name"]: name if fits else f"#{i}"
        for i, (h, name) in enumerate(zip(report["harnesses"], names, strict=True), 1)
    }


def _header(report: Row) -> list[RenderableType]:
    dataset, run = report["dataset"], n.plain(report["run"])
    name = f"  {n.plain(report['name'])}" if report["name"] else ""
    status = report["status"]
    took = f"took {n.duration(report['duration_ns'])}" + (
        f" in {report['sessions']} sessions" if (report["sessions"] or 0) > 1 else ""
    )
    version = n.plain((report["hemra"] or {}).get("version"))
    shape = (
        f"{n.many(dataset['tasks'], 'task')} × {n.many(len(report['harnesses']), 'harness')} × "
        f"{n.many(report['attempts'], 'attempt')} = {n.many(report['planned'], 'trial')}"
    )
    incomplete = "" if report["complete"] else f", {report['scored']} of {report['planned']} trials scored"
    style = STATUS_STYLE.get(status, "")
    return [
        line(("Run ", "bold"), (run, "bold cyan"), (name, "bold"), ("   ■ ", style),
             (status, f"bold {style}"), (incomplete, "yellow")),
        line((f"{n.plain(dataset['name'])} ({n.short_digest(dataset['digest'])}) · {shape}", "")),
        line((f"{n.moment(report['started'])} · {took} · sandbox {n.plain(report['sandbox'])} · "
               f"{n.many(report['jobs'], 'job')} · hemra {version}", "dim")),
    ]  # fmt: skip


def _warnings(report: Row) -> list[RenderableType]:
    pairs = [(line(("!", "bold yellow")), line((n.plain(text), "yellow"))) for text in report["warnings"]]
    return [line(), definitions(pairs)] if pairs else []


def _models(report: Row, names: dict[str, str]) -> list[RenderableType]:
    """Which model stands behind each harness."""
    told = [(_name(h, names), model_words(h["models"])) for h in report["harnesses"]]
    pairs = [(name, line((text, ""))) for name, text in told if text]
    return [heading("Models"), definitions(pairs)] if pairs else []


def _harnesses(report: Row, names: dict[str, str], width: int) -> list[RenderableType]:
    """Tables of what each harness reached, and what it took."""
    columns = [("Harness", "+"), ("Scored", ">"), ("Passed", ">"), ("Strict [95 %]", ">"),
               ("Scored only [95 %]", ">")]  # fmt: skip
    longest = max((len(_name(h, names)) for h in report["harnesses"]), default=0)
    with_bar = width >= WIDTH and longest <= 24
    reached = table([*columns, ("", "<")] if with_bar else columns)
    took = table([("Harness", "+"), ("Agent time", ">"), ("p90", ">"), ("Model wait", ">"), ("First token", ">"),
                  ("Tool calls", ">"), ("Cost", ">"), ("Run again", ">")])  # fmt: skip
    called = table([("Harness", "+"), *((title, ">") for title in CALLS_AND_TOKENS)])
    for h in report["harnesses"]:
        name = _name(h, names)
        full = h["scored"] == h["planned"]
        scores: list[RenderableType] = [
            name, line((f"{h['scored']}/{h['planned']}", "" if full else "yellow")), str(h["passed"]),
            _score(h["strict"]), _score(h["scored_only"]),
        ]  # fmt: skip
        reached.add_row(*scores, *([_bar(h["strict"]["mean"])] if with_bar else []))
        retries = h["retries"]["tries"]
        took.add_row(
            name, n.duration(h["agent_ns"]["median"]), n.duration(h["agent_ns"]["p90"]),
            n.duration(h["model_ns"]["median"]), n.duration(h["first_token_ns"]["median"]),
            n.count(h["tool_calls"]), short_cost(h), line((str(retries), "yellow" if retries else "dim")),
        )  # fmt: skip
        called.add_row(name, *calls_and_tokens(h))
    return [
        heading("Scores"), reached, heading("Time and cost"), took, *_costs(report, names),
        heading("Model calls"), called, *_run_again(report, names),
    ]  # fmt: skip


def _costs(report: Row, names: dict[str, str]) -> list[RenderableType]:
    """Costs in words, of harnesses whose sum alone says too little."""
    told = [(_name(h, names), paid_words(h, report["prices"])) for h in report["harnesses"]]
    pairs = [(name, line((text, ""))) for name, text in told if text]
    return [line(), definitions(pairs)] if pairs else []


def _run_again(report: Row, names: dict[str, str]) -> list[RenderableType]:
    """What the tries took that do not count."""
    if not report["run_again"]:
        return []
    rows = table([("Harness", "+"), *((title, "+" if title == "Why" else ">") for title in RUN_AGAIN)])
    for h in report["harnesses"]:
        if h["retries"]["tries"]:
            rows.add_row(_name(h, names), *run_again(h))
    note = f"tries that do not count; `hemra show {n.plain(report['run'])}` lists them"
    return [heading("Run again", note), rows]


def _name(harness: Row, names: dict[str, str]) -> Text:
    """The harness's full name and version, with its number where the columns below have numbers."""
    short, name = names[harness["name"]], n.shortened(n.plain(harness["name"]), 60)
    number = "" if short == n.plain(harness["name"]) else f"{short} "
    version = "" if harness["version"] is None else f" {n.shortened(n.plain(harness['version']), 24)}"
    return line((number, "dim"), (name, "bold"), (version, "dim"))


def _bar(share: float | None, cells: int = 20) -> Text:
    """A share drawn as a bar; its figure stands beside it."""
    if share is None:
        return line()
    filled = round(share * cells)
    return line(("█" * filled, "green"), ("░" * (cells - filled), "dim"))


def _score(estimate: Row) -> Text:
    low, high = estimate["low"], estimate["high"]
    spread = "" if low is None else f" [{n.interval(low, high)}]"
    return line((n.percent(estimate["mean"]), "bold"), (spread, "dim"))


def _pass_k(report: Row, names: dict[str, str]) -> list[RenderableType]:
    ks = [p["k"] for p in report["harnesses"][0]["pass_k"]] if report["harnesses"] else []
    if len(ks) < 2:
        return []
    columns = [("", "<")] + [(f"pass@{k}", ">") for k in ks] + [(f"pass^{k}", ">") for k in ks]
    rows = table(columns)
    for h in report["harnesses"]:
        cells = [_covered(p, "pass_at_k") for p in h["pass_k"]]
        cells += [_covered(p, "pass_hat_k") for p in h["pass_k"]]
        rows.add_row(names[h["name"]], *cells)
    return [heading("Over several attempts"), rows]


def _covered(p: Row, key: str) -> str:
    """A figure with the number of tasks it rests on where that is not all of them."""
    partly = "" if p["tasks"] in (p["of"], 0) else f" ({p['tasks']} of {p['of']} tasks)"
    return n.percent(p[key]) + partly


def _trials(report: Row, names: dict[str, str]) -> list[RenderableType]:
    """The one partition of the planned trials, with its sum, and what each word means."""
    parts = report["partition"]
    rows = table([("", "<"), *((n.plain(p["label"]), ">") for p in parts), ("= planned", ">")])
    for h in report["harnesses"]:
        counts = [_count_of(h["partition"], p["result"]) for p in parts]
        cells = [line((str(c), _result_style(p) if c else "dim")) for c, p in zip(counts, parts, strict=True)]
        rows.add_row(names[h["name"]], *cells, line((str(h["planned"]), "bold")))
    if len(report["harnesses"]) > 1:
        sums = [*(p["count"] for p in parts), report["planned"]]
        rows.add_row(line(("all", "bold")), *(line((str(s), "bold")) for s in sums))
    ended = ", ".join(f"{o['count']} {n.plain(o['outcome']).replace('_', ' ')}" for o in report["outcomes"])
    meanings = [
        (line((n.plain(p["label"]), _result_style(p))), line((n.plain(p["meaning"]), "dim"))) for p in parts
    ]
    return [heading("Trials"), rows, line(), definitions(meanings),
            line(("They ended: ", "dim"), (ended, ""))]  # fmt: skip


def _result_style(part: Row) -> str:
    return RESULT_STYLE.get(part["result"], "yellow")


def _count_of(partition: list[Row], result: str) -> int:
    return next((p["count"] for p in partition if p["result"] == result), 0)


def _categories(report: Row, names: dict[str, str]) -> list[RenderableType]:
    """Strict scores by category of task."""
    if not report["categories"]:
        return []
    rows = table([("Category", "+"), ("Tasks", ">"), *((name, ">") for name in names.values())])
    for entry in report["categories"]:
        cells = [line((category_cell(own), "")) for own in entry["harnesses"]]
        rows.add_row(n.plain(entry["category"]) or "(none)", str(entry["tasks"]), *cells)
    return [heading("By category", "strict [95 %]"), rows]


def _tasks(report: Row, names: dict[str, str], width: int) -> list[RenderableType]:
    """Tasks by harnesses; so many harnesses beside each other as fit."""
    cells = [[_cell(c) for c in entry["cells"]] for entry in report["grid"]]
    shown = list(names.values())
    needed = (
        [max(len(name), *(len(row[i]) for row in cells)) + 3 for i, name in enumerate(shown)] if cells else []
    )
    tables: list[RenderableType] = []
    for low, high in _chunks(needed, width - MIN_TASK):
        rows = table([("Task", "+"), *((name, "<") for name in shown[low:high])])
        for entry, row in zip(report["grid"], cells, strict=True):
            rows.add_row(n.shortened(n.plain(entry["task"]), 120), *row[low:high])
        tables += [line(), rows] if low else [rows]
    note = f"{MARKS['passed']} passed  {MARKS['failed']} failed  {UNSCORED_MARK} no counted score"
    return [heading("Tasks", note), *tables]


def _chunks(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Ranges of columns that fit in `room`, at least one column each."""
    ranges, low, used = [], 0, 0
    for i, width in enumerate(widths):
        if i > low and used + width > room:
            ranges.append((low, i))
            low, used = i, 0
        used += width
    return [*ranges, (low, len(widths))] if widths else []


def _cell(cell: Row) -> Text:
    """Marks for few attempts, passes of those planned, and the mean reward where it says more."""
    made = line()
    results = sorted(cell["results"].items(), key=lambda item: words.result_order(item[0]))
    if cell["planned"] <= 5:
        for result, count in results:
            made.append(MARKS.get(result, UNSCORED_MARK) * count, style=RESULT_STYLE.get(result, "yellow"))
        made.append(" ")
    made.append(f"{cell['passed']}/{cell['planned']}")
    if cell["mean"] is not None and cell["mean"] * cell["scored"] != cell["passed"]:
        made.append(f" mean {cell['mean']:.2f}", style="dim")
    return made


def _not_scored(report: Row) -> list[RenderableType]:
    """Trials without a counted score, with the reason; those whose turn has not come are only counted."""
    missing = report["not_scored"]
    told = [m for m in missing if m["reason"] or m["result"] not in ("waiting", "not_started")]
    if not missing:
        return []
    parts: list[RenderableType] = [heading(f"Not scored ({len(missing)})")]
    if told:
        rows = table([("Trial", "<"), ("Harness", "+"), ("Task", "+"), ("#", ">"), ("Why", "+")])
        for m in told[:MAX_LISTED]:
            rows.add_row(
                n.plain(m["trial"]), n.shortened(n.plain(m["harness"]), 60),
                n.shortened(n.plain(m["task"]), 120), str(m["attempt"]), n.shortened(_why(m), 240),
            )  # fmt: skip
        parts.append(rows)
    left = len(missing) - len(told[:MAX_LISTED])
    if left:
        rest = ", ".join(
            f"{count} {n.plain(words.result_label(result))}"
            for result, count in _tally(m["result"] for m in missing if m not in told[:MAX_LISTED])
        )
        parts.append(
            line((f"{'… and ' if told else ''}{rest}: `hemra show {n.plain(report['run'])}`", "dim"))
        )
    return parts


def _tally(results: Iterable[str]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result] = counts.get(result, 0) + 1
    return sorted(counts.items(), key=lambda item: words.result_order(item[0]))


def _why(missing: Row) -> str:
    why = n.plain(words.result_label(missing["result"]))
    if missing["reason"]:
        why += f": {n.plain(missing['reason'])}"
    if missing["score_status"] and missing["result"] not in ("verifier_error", "skipped"):
        why += f" (scorer said {n.plain(missing['score_status'])}; does not count)"
    return why


def _limits(report: Row) -> list[RenderableType]:
    fired = report["limits_fired"]
    if not fired:
        return []
    rows = table([("Trial", "<"), ("Harness", "+"), ("Task", "+"), ("Limit", "+"), ("Measured", "+")])
    for f in fired[:MAX_LISTED]:
        rows.add_row(
            n.plain(f["trial"]), n.shortened(n.plain(f["harness"]), 60), n.shortened(n.plain(f["task"]), 120),
            f"{n.plain(f['name'])} {n.amount(f['value'], f['unit'])}", n.amount(f["measured"], f["unit"]),
        )  # fmt: skip
    return [heading(f"Stopped by a limit ({len(fired)})"), rows]


def _not_enforced(report: Row) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if report["not_enforced"]:
        rows = table([("", "<"), ("Held", "<"), ("How", "+"), ("Trials", ">")])
        for e in report["not_enforced"]:
            style = "yellow" if e["status"] == "not enforced" else ""
            rows.add_row(
                n.plain(e["name"]), line((n.plain(e["status"]), style)), n.plain(e["by"]), str(e["trials"])
            )
        parts += [heading(f"What the sandbox ({n.plain(report['sandbox'])}) did not fully hold"), rows]
    if report["flags"]:
        flags = ", ".join(f"{n.plain(f['flag'])} ({n.many(f['count'], 'trial')})" for f in report["flags"])
        parts += [heading("Flags"), line((flags, ""))]
    return parts


def _legend(report: Row) -> list[RenderableType]:
    several = report["attempts"] > 1
    shown = {k: v for k, v in words.LEGEND.items() if several or not k.startswith("pass")}
    return [
        heading("Words"),
        definitions([(line((k, "dim bold")), line((v, "dim"))) for k, v in shown.items()]),
    ]
