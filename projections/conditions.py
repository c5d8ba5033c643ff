"""Under what conditions each side ran: whatever differs makes two results not like for like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from projections.pairing import SideTask

Row = dict[str, Any]

#: Where harness files stood says nothing about how the run went: their content is compared by digest.
_NO_CONDITION = {"harness_files"}
_HEADER = ("sandbox", "jobs", "attempts", "retries", "seed")


def differences(
    report_a: Row, harness_a: str, report_b: Row, harness_b: str, matched: Sequence[tuple[SideTask, SideTask]]
) -> list[Row]:
    """Conditions that differ, as `{"name", "a", "b"}` (null = not told), in a fixed order.

    The harness is what is compared; its version and file count only where both sides name the same one.
    """
    a, b = _conditions(report_a, harness_a), _conditions(report_b, harness_b)
    if harness_a != harness_b:
        for name in ("harness version", "harness file"):
            del a[name], b[name]
    names = [*a, *(name for name in b if name not in a)]
    found = [{"name": n, "a": a.get(n), "b": b.get(n)} for n in names if a.get(n) != b.get(n)]
    return found + _limits(matched)


def _conditions(report: Row, harness: str) -> Row:
    own = next(h for h in report["harnesses"] if h["name"] == harness)
    conditions: Row = {
        "dataset": report["dataset"]["name"],
        "harness version": own["version"],
        "harness file": own["digest"],
        "model": own["model"],
    }
    conditions.update({name: report[name] for name in _HEADER})
    conditions["prices"] = _prices(report["prices"])
    conditions["answered by cassette"] = _cassette(report["cassette"])
    for group in ("hemra", "host"):
        told = report[group] or {}
        conditions.update(_flat(group, {k: v for k, v in told.items() if k not in _NO_CONDITION}))
    held = {(e["name"], e["status"]) for e in report["not_enforced"]}
    conditions["not enforced"] = ", ".join(sorted(name for name, status in held if status == "not enforced"))
    return conditions


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
