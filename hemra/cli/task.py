"""`hemra task`: the tasks of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, end_with, json_option, note, open_store, there_is_a_store
from hemra.cli.lazy import Group
from hemra.cli.output import print_facts, print_json, print_table, say
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from hemra.datasets.model import Dataset, Task

dataset_option = click.option(
    "--dataset", metavar="D", default="hermes", show_default=True,
    help="`hermes` (bundled), a pinned name, or a folder.",
)  # fmt: skip


def load(ref: str) -> Dataset:
    """The dataset that `ref` names; a store is looked at only where there is one."""
    from hemra.datasets.load import load_dataset

    return load_dataset(ref, open_store() if there_is_a_store() else None)


@click.group(cls=Group)
def task() -> None:
    """List, show and validate tasks."""


@task.command(
    "list",
    examples=[
        ("hemra task list", "the bundled suite"),
        ("hemra task list 't01*' --json", "some of it, as JSON"),
    ],
)
@click.argument("globs", metavar="[GLOB]...", nargs=-1)
@dataset_option
@json_option
@common_options
def list_(globs: tuple[str, ...], dataset: str, as_json: bool) -> None:
    """List the tasks of a dataset. A GLOB is matched against ids, categories and last components."""
    from hemra.datasets.load import select

    loaded = load(dataset)
    tasks = select(loaded, globs)
    if as_json:
        rows = [_row(t) for t in tasks]
        print_json(
            {"schema": "hemra.tasks/1", "dataset": loaded.name, "digest": loaded.digest, "tasks": rows}
        )
        return
    print_table(
        [
            Column("task", least=24, end=True),
            Column("title", least=20),
            Column("level", right=True, drop=1),
            Column("tags", least=10, drop=2),
        ],
        [(t.id, t.spec.title, t.spec.difficulty, ", ".join(t.spec.tags)) for t in tasks],
    )


def _row(task: Task) -> dict[str, Any]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(task.spec)
    facts.pop("id")
    return {"task": task.id, "digest": task.digest, "scorer_digest": task.scorer_digest, **facts}


@task.command(examples=[("hemra task show t01_echo", "instruction, limits and files of one task")])
@click.argument("task_id", metavar="TASK")
@dataset_option
@json_option
@common_options
def show(task_id: str, dataset: str, as_json: bool) -> None:
    """Show one task: what is asked, its limits, its files."""
    found = _one(load(dataset), task_id)
    instruction = (found.path / "instruction.md").read_text(encoding="utf-8")
    if as_json:
        print_json(
            {"schema": "hemra.task/1", **_row(found), "instruction": instruction, "files": found.files}
        )
        return
    limits = {k: v for k, v in _row(found)["limits"].items() if v is not None}
    print_facts(
        [
            ("task", found.id),
            ("title", found.spec.title),
            ("digest", found.digest),
            ("limits", ", ".join(f"{k} {v}" for k, v in limits.items()) or None),
            ("tools", ", ".join(found.spec.allowed_tools) or None),
            ("folder", found.path),
            ("files", ", ".join(found.files)),
        ]
    )
    say(f"\n{instruction.strip()}")


def _one(dataset: Dataset, task_id: str) -> Task:
    """The task with this id, or this last component. Raises NotFound."""
    from hemra.cli.lazy import nearest
    from hemra.errors import NotFound

    exact = [t for t in dataset.tasks if t.id == task_id]
    found = exact or [t for t in dataset.tasks if t.id.rpartition("/")[2] == task_id]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{task_id!r} fits several tasks: {', '.join(t.id for t in found)}")
    guess = nearest(task_id, [t.id for t in dataset.tasks])
    raise NotFound(f"no task {task_id!r} in dataset {dataset.name!r}.{guess} `hemra task list` shows them")


@task.command(examples=[("hemra task validate my-tasks/", "everything that is wrong, in one pass")])
@click.argument("folder", metavar="FOLDER", required=False)
@json_option
@common_options
def validate(folder: str | None, as_json: bool) -> None:
    """Look for everything wrong with the tasks in FOLDER (default: the bundled suite).

    Every task is prepared and its verifier run once. Exit code 2 when there is an error.
    """
    import msgspec

    from hemra.datasets.load import bundled_root
    from hemra.datasets.validate import ERROR
    from hemra.datasets.validate import validate as validated

    findings = validated(bundled_root() if folder is None else Path(folder))
    bad = any(f.level == ERROR for f in findings)
    end_with(2 if bad else 0)
    if as_json:
        rows = [msgspec.to_builtins(f) for f in findings]
        print_json({"schema": "hemra.findings/1", "ok": not bad, "findings": rows})
    else:
        for finding in findings:
            say(f"{finding.level}: {finding.task}: {finding.text}")
        note("not valid" if bad else "valid")
