"""The table of kinds in `hemra harness list`: what each can be held to, and what of it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hemra.cli.output import print_table, say
from hemra.reports.columns import Column

_OWN = "yours"


def print_kinds(kinds: Sequence[dict[str, Any]]) -> None:
    """A line for each kind, and one below the table for whatever is wrong with an installation."""
    print_table(
        [
            Column("kind", least=16),
            Column("dialects", drop=3),
            Column("tools", drop=2),
            Column("turn limit", drop=4),
            Column("mcp", drop=5),
            Column("version"),
            Column("installed", least=17),
        ],
        [_row(kind) for kind in kinds],
    )
    for kind in kinds:
        for line in _problems(kind):
            say(line)


def _row(kind: dict[str, Any]) -> tuple[Any, ...]:
    held, recipe = kind["capabilities"], kind["recipe"]
    if held is None:
        what: tuple[Any, ...] = (None, None, None, None)
    else:
        what = (", ".join(held["dialects"]), held["tools"], "yes" if held["turn_limit"] else "no",
                ", ".join(held["mcp"]) or "no")  # fmt: skip
    version = _OWN if recipe is None else recipe["version"]
    return (kind["kind"], *what, version, _installed(kind))


def _installed(kind: dict[str, Any]) -> str | None:
    if kind["recipe"] is None:
        return None
    if not kind["installed"]:
        return "no"
    return ", ".join(each["version"] + _remark(each) for each in kind["installed"])


def _remark(installed: dict[str, Any]) -> str:
    if installed["problem"] is not None:
        return " (damaged)"
    if installed["changed"]:
        return " (changed)"
    return " (unpinned)" if installed["conflicts"] else ""


def _problems(kind: dict[str, Any]) -> list[str]:
    lines = []
    for each in kind["installed"]:
        name = f"{kind['recipe']['name']} {each['version']}"
        if each["problem"] is not None:
            lines.append(f"{name}: {each['problem']}")
        elif each["changed"]:
            more = len(each["changed"]) - 1
            what = each["changed"][0] + (f" and {more} more" if more else "")
            lines.append(f"{name}: not as it was installed: {what}; `hemra harness install` makes it anew")
        elif each["conflicts"]:
            lines.append(
                f"{name}: unpinned: {len(each['conflicts'])} of the packages that it asks for are others, or missing"
            )
    if kind["missing"] and not kind["installed"]:
        lines += [f"{kind['recipe']['name']} cannot be installed here: {text}" for text in kind["missing"]]
    return lines
