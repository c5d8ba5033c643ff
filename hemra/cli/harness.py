"""`hemra harness`: built-in harnesses, kinds and installed agents, and what a harness file says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, json_option
from hemra.cli.harness_check import check
from hemra.cli.harness_install import install, uninstall
from hemra.cli.harness_kinds import print_kinds
from hemra.cli.lazy import Group
from hemra.cli.output import print_facts, print_json, print_table, say
from hemra.cli.stores import store_if_any
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from eventlog.store import Store
    from harnesses.base import Harness


@click.group(cls=Group)
def harness() -> None:
    """List, show, install and check harnesses."""


harness.add_command(check)
harness.add_command(install)
harness.add_command(uninstall)


@harness.command(
    "list",
    examples=[("hemra harness list", "built in, used by runs of this store, and kinds with their agents")],
)
@json_option
@common_options
def list_(as_json: bool) -> None:
    """List the harnesses that runs of this store used (newest first), the built-in ones, and every kind that a
    harness file can have: what it can be held to, the version that HEMRA was made for, and what is installed.

    An installed agent whose files are not as they were installed is `changed`.
    """
    from harnesses.registry import BUILTIN, load_harness
    from hemra.installing.catalog import document, kinds

    store = store_if_any()
    rows = list(reversed(_registered(store))) if store else []
    known = {row["digest"] for row in rows}
    for name in BUILTIN:
        built_in = load_harness(name)
        if built_in.digest not in known:
            rows.append(_row(built_in))
    known_kinds = [document(kind) for kind in kinds()]
    if as_json:
        print_json({"schema": "hemra.harnesses/1", "harnesses": rows, "kinds": known_kinds})
        return
    print_table(
        [
            Column("harness", least=12),
            Column("kind"),
            Column("digest", drop=2),
            Column("model", least=8),
            Column("seen", drop=1),
        ],
        [(r["harness"], r["kind"], r["digest"][:19], r["definition"].get("model"), r["seen"]) for r in rows],
    )
    say("")
    print_kinds(known_kinds)


def _row(found: Harness) -> dict[str, Any]:
    return {"harness": found.name, "kind": found.kind, "digest": found.digest, "definition": found.definition,
            "seen": None}  # fmt: skip


def _registered(store: Store) -> list[dict[str, Any]]:
    from eventlog.reader import read, resolve
    from eventlog.store import CATALOG

    if CATALOG not in store.streams():
        return []
    rows = []
    for event in read(store, CATALOG, types=("harness.registered",)):
        data = resolve(store, event.data)
        rows.append({"harness": data["name"], "kind": data["kind"], "digest": data["digest"],
                     "definition": data["definition"], "seen": event.time})  # fmt: skip
    return rows


@harness.command(
    examples=[("hemra harness show ./mine.yaml", "what is recorded of it, and what is wrong with it")]
)
@click.argument("ref", metavar="HARNESS")
@json_option
@common_options
def show(ref: str, as_json: bool) -> None:
    """Show a built-in harness or a harness file: what is recorded of it, and every problem for which `hemra run` would
    refuse it here.

    Problems do not change the exit code: what was asked for is shown. `hemra harness check` judges a harness.
    """
    from harnesses.registry import load_harness
    from hemra.engine.check import harness_alone

    found = load_harness(ref)
    problems = harness_alone(found)
    if as_json:
        print_json({"schema": "hemra.harness/1", **_row(found), "terminal": found.terminal,
                    "needs_solution": found.needs_solution, "problems": problems})  # fmt: skip
        return
    facts: list[tuple[str, Any]] = [
        ("harness", found.name),
        ("kind", found.kind),
        ("digest", found.digest),
        ("terminal", found.terminal),
    ]
    told = {"name", *(label for label, _ in facts)}
    print_facts(facts + [(k, v) for k, v in found.definition.items() if v and k not in told])
    for problem in problems:
        say(f"problem: {problem}")
