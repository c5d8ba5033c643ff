"""`hemra task validate`, `check` and `integrity`: whether tasks can be trusted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hemra.cli.chosen import load, selectors, traits_options
from hemra.cli.context import common_options, end_with, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json, print_table, say
from hemra.cli.stores import open_store, there_is_a_store
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from hemra.gates.suite import Checked


@click.command(
    cls=Command, examples=[("hemra task validate my-tasks/", "everything that is wrong, in one pass")]
)
@click.argument("folder", metavar="FOLDER", required=False)
@json_option
@common_options
def validate(folder: str | None, as_json: bool) -> None:
    """Look for everything wrong with the tasks in FOLDER (default: the bundled suite).

    Every task is prepared and its verifier run once. Exit code 2 when there is an error.
    """
    import msgspec

    from hemra.datasets.load import bundled_root
    from hemra.gates.validate import ERROR
    from hemra.gates.validate import validate as validated

    findings = validated(bundled_root() if folder is None else Path(folder))
    bad = any(f.level == ERROR for f in findings)
    end_with(2 if bad else 0)
    if as_json:
        rows = [msgspec.to_builtins(f) for f in findings]
        print_json({"schema": "hemra.findings/1", "ok": not bad, "findings": rows})
    else:
        for finding in findings:
            # What was found in a file begins with its path, which says more than the task's name.
            place = "" if finding.text.startswith(os.sep) else f"{finding.task}: "
            say(f"{finding.level}: {place}{finding.text}")
        note("not valid" if bad else "valid")


@click.command(
    cls=Command,
    examples=[
        ("hemra task check", "all gates of the bundled suite"),
        ("hemra task check my-tasks/ --task 'shell/*' --seeds 5", "some tasks, with more seeds"),
        ("hemra task check --dataset smoke", "the tasks of a suite"),
    ],
)
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option(
    "--task", "globs", metavar="GLOB", multiple=True, help="Only tasks that match (may be repeated)."
)
@traits_options
@click.option("--dataset", metavar="D", help="A dataset by name, in place of FOLDER.")
@click.option(
    "--seeds", metavar="N", type=click.IntRange(1, 1000), default=3, show_default=True, help="Seeds 1 to N."
)
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Tasks at the same time.",
)
@json_option
@common_options
def check(
    folder: str | None,
    globs: tuple[str, ...],
    tag: tuple[str, ...],
    difficulty: tuple[str, ...],
    dataset: str | None,
    seeds: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Validate the tasks in FOLDER (default: the bundled suite) and try their verifiers.

    The solution and checks/right_* must pass; checks/wrong_*, a harness that does nothing, one whose calls all
    fail and one that only repeats answers must not; odd workspaces must be judged in time. A task that cannot be
    loaded fails alone. Exit code 2 when a gate fails.
    """
    from hemra.datasets.load import bundled_root
    from hemra.errors import UsageError
    from hemra.gates.suite import check_folder

    if folder is not None and dataset is not None:
        raise UsageError("FOLDER and --dataset both say what to check; give one of them")
    chosen = selectors(globs, tag, difficulty)
    root = bundled_root() if folder is None else Path(folder)
    if dataset is not None:
        loaded = load(dataset)
        root, chosen = loaded.root, chosen or [task.id for task in loaded.tasks]

    def tell(done: Checked) -> None:
        note(f"{'ok' if done.ok else 'not ok'}: {done.task}")

    results = check_folder(root, chosen, seeds=range(1, seeds + 1), jobs=jobs, tell=tell)
    bad = [result for result in results if not result.ok]
    end_with(2 if bad else 0)
    if as_json:
        tasks = [result.as_json() for result in results]
        print_json({"schema": "hemra.checked/1", "ok": not bad, "seeds": seeds, "tasks": tasks})
        return
    _print(results)
    note(f"{len(results) - len(bad)} of {len(results)} tasks pass every gate")


def _print(results: list[Checked]) -> None:
    from hemra.gates.suite import COLUMNS

    print_table(
        [Column("task", least=24, end=True), *(Column(name) for name in COLUMNS)],
        [(result.task, *(result.cell(name) for name in COLUMNS)) for result in results],
    )
    for result in results:
        for finding in result.findings:
            say(f"{finding.level}: {result.task}: {finding.text}")
        for line, seeds in result.failures().items():
            say(f"failed: {result.task}: {line} (seed {', '.join(map(str, seeds))})")


@click.command(
    cls=Command,
    examples=[
        ("hemra task integrity", "whether a run has changed any file of a task"),
        ("hemra task integrity my-tasks/", "of one dataset alone"),
    ],
)
@click.argument("ref", metavar="[DATASET]", required=False)
@json_option
@common_options
def integrity(ref: str | None, as_json: bool) -> None:
    """Show every file of a task that is not as it was pinned, or not as git has it.

    Without DATASET: the bundled suite and everything pinned in the store. Runs copy what they need, so none should
    ever change a task; this shows it. Exit code 2 when something differs.
    """
    from hemra.datasets.integrity import differing

    store = open_store() if there_is_a_store() else None
    found = differing(store, ref)
    end_with(2 if any(each.problems for each in found) else 0)
    if as_json:
        rows = [
            {
                "dataset": e.name,
                "source": e.source,
                "pinned": e.pinned,
                "tracked": e.tracked,
                "problems": e.problems,
            }
            for e in found
        ]
        print_json(
            {"schema": "hemra.integrity/1", "ok": not any(e.problems for e in found), "datasets": rows}
        )
        return
    for each in found:
        held = [word for word, is_so in (("pin", each.pinned), ("git", each.tracked)) if is_so]
        against = " and ".join(held) or "nothing to compare with: neither pinned nor tracked by git"
        say(f"{each.name} ({each.source}): {'as by ' if held else ''}{against}" if not each.problems
            else f"{each.name} ({each.source}): changed")  # fmt: skip
        for problem in each.problems:
            say(f"  {problem}")
