"""Under what conditions each side ran: whatever differs makes two results not like for like.

What the plan says holds for a whole run. What a trial was given, who ran it and which model answered it is taken from
the trials that are compared: those of the paired tasks, of the side's own harness, of the try that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from projections.pairing import SideTask
from projections.sides import Row, Side

#: Where harness files stood says nothing about how the run went: their content is compared by digest.
_NO_CONDITION = {"harness_files"}
_UNKNOWN = "not told"


def differences(a: Side, b: Side, matched: Sequence[tuple[SideTask, SideTask]]) -> list[Row]:
    """Conditions that differ, as `{"name", "a", "b"}` (null = not told), in a fixed order.

    The harness is what is compared; its file, program and version only where both sides name the same one, or where
    a side is of several versions.
    """
    rows_a, rows_b = (_rows(side, [t for p in matched for t in p[i].trials]) for i, side in enumerate((a, b)))
    left, right = _conditions(a, rows_a), _conditions(b, rows_b)
    if a.harness != b.harness:
        for name in ("harness file", "harness program"):
            del left[name], right[name]
        if max(len(_versions(a, rows_a)), len(_versions(b, rows_b))) == 1:
            del left["harness version"], right["harness version"]
    names = [*left, *(name for name in right if name not in left)]
    found = [{"name": n, "a": left.get(n), "b": right.get(n)} for n in names if left.get(n) != right.get(n)]
    return found + _limits(matched)


def models(side: Side, trials: Sequence[Row]) -> Row:
    """The model in the harness's file, and the names that `trials` asked for and were answered by, sorted."""
    rows = _rows(side, trials)
    return {
        "file": side.figures["model"],
        "asked": sorted({name for row in rows for name in row["asked"]}),
        "answered": sorted({name for row in rows for name in row["answered"]}),
    }


def versions(side: Side, trials: Sequence[Row]) -> list[str | None]:
    """The versions of the harness that `trials` were made with, sorted; null for one that is not known."""
    return _ordered(_versions(side, _rows(side, trials)))


def _rows(side: Side, trials: Sequence[Row]) -> list[Row]:
    """What `trials` ran under; all of the side's where none of them is among those that were started."""
    own = [row for row in side.ran_under if row["harness"] == side.harness]
    wanted = {trial["trial"] for trial in trials}
    return [row for row in own if row["trial"] in wanted] or own


def _conditions(side: Side, rows: Sequence[Row]) -> Row:
    report, own = side.report, side.figures
    placed = [row for row in rows if row["sandbox"] is not None]
    conditions: Row = {
        "dataset": report["dataset"]["name"],
        "harness version": _several(_versions(side, rows), " and "),
        "harness file": own["digest"],
        "harness program": _several(row["installed"] for row in rows),
        "model": own["model"],
        "model asked": _several(name for row in rows for name in row["asked"]),
        "model answered": _several(name for row in rows for name in row["answered"]),
        "upstream": _several(row["upstream"] and row["upstream"].rstrip("/") for row in rows),
        "sandbox": _several(row["sandbox"] for row in placed) or report["sandbox"],
        "network": _several(row["network"] for row in placed),
        "image": _several(row["image"] for row in placed),
        "jobs": _several(row["jobs"] or report["jobs"] for row in rows) or report["jobs"],
    }
    conditions.update({name: report[name] for name in ("attempts", "retries", "seed")})
    conditions["prices"] = _prices(report["prices"])
    conditions["answered by cassette"] = _cassette(report["cassette"])
    for group in ("hemra", "host"):
        conditions.update(_engines(group, report, rows))
    for name in ("not enforced", "best effort"):
        held = {each for row in rows for each in row[name.replace(" ", "_")]}
        conditions[name] = ", ".join(sorted(held)) or None
    return conditions


def _versions(side: Side, rows: Sequence[Row]) -> set[str | None]:
    return {row["version"] for row in rows} or {side.figures["version"]}


def _engines(group: str, report: Row, rows: Sequence[Row]) -> Row:
    """What the engines that ran the trials say of themselves (`hemra`) or their machines (`host`), one level deep.

    The first engine is where the plan was made. Of a later one that said nothing nothing is known, and nothing is said.
    """
    planned = {k: v for k, v in (report[group] or {}).items() if k not in _NO_CONDITION}
    told = [row[group] or (planned if row["session"] in (None, 1) else None) for row in rows]
    known = [_flat(group, each) for each in told if each] or [_flat(group, planned)]
    names = sorted({name for each in known for name in each})
    return {name: _several(each.get(name) for each in known) for name in names}


def _several(values: Iterable[Any], between: str = ", ") -> Any:
    """None for no value, one value as it is, several as a text."""
    found = _ordered(values)
    if len(found) <= 1:
        return found[0] if found else None
    return between.join(_UNKNOWN if value is None else str(value) for value in found)


def _ordered(values: Iterable[Any]) -> list[Any]:
    """Each value once (it need not be hashable): numbers by size, then others by their text, then null."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    numbers = sorted(value for value in found if isinstance(value, int | float))
    others = sorted((v for v in found if v is not None and not isinstance(v, int | float)), key=str)
    return [*numbers, *others, *([None] if None in found else [])]


def _prices(table: Row | None) -> str | None:
    """A price table by name, date and the beginning of its digest: an edited one is another."""
    return f"{table['name']} ({table['date']}), {table['digest'][:19]}" if table else None


def _cassette(cassette: Row | None) -> str | None:
    """The recorded run, or the trial of it, that answered in the models' place."""
    if not cassette:
        return None
    return f"{cassette['run']}/{cassette['trial']}" if cassette.get("trial") else str(cassette["run"])


def _flat(prefix: str, value: Any) -> Row:
    """Nested objects as one level: `host.cpus`."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {name: v for key in sorted(value) for name, v in _flat(f"{prefix}.{key}", value[key]).items()}


def _limits(matched: Sequence[tuple[SideTask, SideTask]]) -> list[Row]:
    """Limits that were not the same on both sides of a matched task, with the number of tasks concerned."""
    counts: dict[tuple[str, Any, Any], int] = {}
    for a, b in matched:
        left, right = _limits_of(a), _limits_of(b)
        for name in sorted(set(left) | set(right)):
            if left.get(name) != right.get(name):
                key = (name, left.get(name), right.get(name))
                counts[key] = counts.get(key, 0) + 1
    order = sorted(counts, key=lambda k: (k[0], str(k[1]), str(k[2])))
    return [{"name": f"limit {k[0]}", "a": k[1], "b": k[2], "tasks": counts[k]} for k in order]


def _limits_of(side: SideTask) -> Row:
    return next((t["limits"] for t in side.trials if t["limits"]), {})
