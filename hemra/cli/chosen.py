"""Datasets and tasks as they are named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hemra.cli.stores import open_store, there_is_a_store

if TYPE_CHECKING:
    from hemra.datasets.model import Dataset, Task

F = TypeVar("F", bound=Callable[..., Any])

dataset_option = click.option(
    "--dataset", metavar="D", default="hermes", show_default=True,
    help="`hermes` (bundled), a suite of it, a pinned name, or a folder.",
)  # fmt: skip


def traits_options(function: F) -> F:
    """Decorator: `--tag` and `--difficulty`, for `selectors`."""
    difficulty = click.option(
        "--difficulty",
        type=click.Choice(["1", "2", "3"]),
        multiple=True,
        help="Only tasks of this difficulty.",
    )
    tag = click.option(
        "--tag", metavar="TAG", multiple=True, help="Only tasks with this tag (may be repeated)."
    )
    return tag(difficulty(function))


def selectors(globs: Sequence[str], tags: Sequence[str], difficulties: Sequence[str]) -> list[str]:
    """What was chosen as `hemra.datasets.selection` takes it."""
    return [*globs, *(f"tag:{tag}" for tag in tags), *(f"difficulty:{each}" for each in difficulties)]


def load(ref: str) -> Dataset:
    """The dataset that `ref` names; a store is looked at only where there is one."""
    from hemra.datasets.load import load_dataset

    return load_dataset(ref, open_store() if there_is_a_store() else None)


def one_task(dataset: Dataset, task_id: str) -> Task:
    """The task with this id, or this last component. Raises NotFound."""
    from hemra.cli.lazy import nearest
    from hemra.datasets.load import listing
    from hemra.errors import NotFound

    exact = [t for t in dataset.tasks if t.id == task_id]
    found = exact or [t for t in dataset.tasks if t.id.rpartition("/")[2] == task_id]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{task_id!r} fits several tasks: {', '.join(t.id for t in found)}")
    guess = nearest(task_id, [t.id for t in dataset.tasks])
    raise NotFound(f"no task {task_id!r} in dataset {dataset.name!r}.{guess} {listing(dataset)} shows them")
