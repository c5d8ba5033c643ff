"""`hemra task new`, `prepare` and `schema`: making a task, and making a trial's workspace again."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hemra.cli.chosen import dataset_option, load, one_task
from hemra.cli.context import common_options, json_option
from hemra.cli.given import Place
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_facts, print_json
from hemra.cli.sizes import SEED
from hemra.cli.stores import open_store, resolve_run


@click.command(
    cls=Command,
    examples=[
        (
            "hemra task new shell/count-lines",
            "a task in the folder shell/count-lines that works; then change it",
        ),
        ("hemra task new web/prices --into ./my-suite", "in a dataset"),
    ],
)
@click.argument("task_id", metavar="ID")
@click.option(
    "--into",
    metavar="DIR",
    default=".",
    show_default=True,
    type=Place(),
    help="The dataset's folder.",
)
@json_option
@common_options
def new(task_id: str, into: Path, as_json: bool) -> None:
    """Make the task ID from the template: it validates, its solution passes, and doing nothing fails."""
    from hemra.datasets.template import new_task

    folder = new_task(task_id, into)
    if as_json:
        print_json({"schema": "hemra.task.new/1", "task": task_id, "folder": str(folder)})
        return
    note(f"made {folder}; see what its README.md says, then `hemra task check {shlex.quote(str(folder))}`")


@click.command(
    cls=Command,
    examples=[
        ("hemra task prepare t01_echo --seed 7 -o out/", "the workspace of a trial with this seed"),
        ("hemra task prepare --trial latest:0001 -o out/", "of a trial that was run, byte for byte"),
    ],
)
@click.argument("task_id", metavar="[TASK]", required=False)
@dataset_option
@click.option(
    "--seed",
    type=SEED,
    metavar="N",
    help="The trial's seed (see `trial.started`).",
)
@click.option("--trial", metavar="RUN:TRIAL", help="A trial that was run, in place of TASK and --seed.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=Place(),
    help="A new or empty folder.",
)
@json_option
@common_options
def prepare(
    task_id: str | None, dataset: str, seed: int | None, trial: str | None, output: Path, as_json: bool
) -> None:
    """Make the workspace of a trial, its instruction and its drawn values, as a run would.

    DIR gets workspace/, instruction.md, values.json and, where the task has a mock web, web/ with its pages. Nothing
    is started: what a task's world adds is told only with --trial, which knows it from the record.
    """
    from hemra.errors import UsageError
    from hemra.gates.again import prepare_again, prepare_task, recorded_trial

    if trial is not None:
        if task_id is not None or seed is not None:
            raise UsageError("--trial says which task and which seed; leave out TASK and --seed")
        run, _, name = trial.rpartition(":")
        if not run:
            raise UsageError(f"--trial {trial}: a trial is named RUN:TRIAL, such as latest:0001")
        store = open_store()
        made = prepare_again(store, recorded_trial(store, resolve_run(store, run), name), output)
    elif task_id is None or seed is None:
        raise UsageError("TASK and --seed, or --trial, say what to prepare")
    else:
        made = prepare_task(one_task(load(dataset), task_id), seed, output)
    if as_json:
        print_json({"schema": "hemra.prepared/1", **made.facts(), "instruction": made.instruction})
        return
    print_facts(list(made.facts().items()))


@click.command(cls=Command, examples=[("hemra task schema > task.schema.json", "for an editor")])
@common_options
def schema() -> None:
    """Print the JSON Schema of task.yaml; every field says who holds it (`x-held-by`)."""
    from hemra.datasets.schema import task_schema

    print_json(task_schema())
