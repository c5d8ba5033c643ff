"""`hemra task`: the tasks of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hemra.cli.chosen import dataset_option, load, one_task, selectors, traits_options
from hemra.cli.context import common_options, json_option
from hemra.cli.lazy import Group
from hemra.cli.output import print_facts, print_json, print_table, say
from hemra.cli.task_gates import check, integrity, validate
from hemra.cli.task_making import new, prepare, schema
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from hemra.datasets.model import Task, TaskMcpServer


@click.group(cls=Group)
def task() -> None:
    """Make, list, show, validate and check tasks."""


@task.command(
    "list",
    examples=[
        ("hemra task list", "the bundled suite"),
        ("hemra task list 't01*' --json", "some of it, as JSON"),
    ],
)
@click.argument("globs", metavar="[GLOB]...", nargs=-1)
@traits_options
@dataset_option
@json_option
@common_options
def list_(
    globs: tuple[str, ...], tag: tuple[str, ...], difficulty: tuple[str, ...], dataset: str, as_json: bool
) -> None:
    """List the tasks of a dataset. A GLOB is matched against ids, categories and last components."""
    from hemra.datasets.load import select

    loaded = load(dataset)
    tasks = select(loaded, selectors(globs, tag, difficulty))
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


def _server(named: tuple[str, TaskMcpServer]) -> str:
    name, server = named
    return f"{name} ({server.over}: {server.url or ' '.join(server.words)})"


@task.command(examples=[("hemra task show t01_echo", "instruction, limits and files of one task")])
@click.argument("task_id", metavar="TASK")
@dataset_option
@json_option
@common_options
def show(task_id: str, dataset: str, as_json: bool) -> None:
    """Show one task: what is asked, its limits, its files."""
    found = one_task(load(dataset), task_id)
    instruction = (found.path / found.spec.instruction).read_text(encoding="utf-8")
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
            ("MCP servers", ", ".join(map(_server, found.spec.mcp_servers.items())) or None),
            ("folder", found.path),
            ("files", ", ".join(found.files)),
        ]
    )
    say(f"\n{instruction.strip()}")


for _command in (validate, check, integrity, new, prepare, schema):
    task.add_command(_command)
