"""`hemra dataset`: what is pinned in the store, and pinning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hemra.cli.chosen import load
from hemra.cli.context import common_options, json_option
from hemra.cli.lazy import Group
from hemra.cli.output import note, print_facts, print_json, print_table, say
from hemra.cli.stores import open_store, store_if_any
from hemra.reports.columns import Column

if TYPE_CHECKING:
    from eventlog.schemas.runs import DatasetPinned
    from eventlog.store import Store


@click.group(cls=Group)
def dataset() -> None:
    """Pin, list and show datasets."""


@dataset.command(
    examples=[
        ("hemra dataset pin hermes", "the bundled suite, as this installation has it"),
        ("hemra dataset pin ./my-tasks", "a folder of tasks, as it is now"),
    ]
)
@click.argument("ref", metavar="DATASET")
@json_option
@common_options
def pin(ref: str, as_json: bool) -> None:
    """Record what a dataset's content is now; a run with other content is refused from then on."""
    from hemra.datasets.load import load_dataset
    from hemra.datasets.pins import pin as pinned
    from hemra.reports.numbers import many

    store = open_store(create=True)
    made = pinned(store, load_dataset(ref, store))
    if as_json:
        print_json({"schema": "hemra.dataset/1", **_row(made)})
        return
    note(f"pinned {made.name} {made.digest}: {many(len(made.tasks), 'task')} from {made.source}")


def _row(pinned: DatasetPinned) -> dict[str, Any]:
    return {
        "dataset": pinned.name,
        "digest": pinned.digest,
        "source": pinned.source,
        "tasks": len(pinned.tasks),
    }


@dataset.command("list", examples=[("hemra dataset list", "what this store knows")])
@json_option
@common_options
def list_(as_json: bool) -> None:
    """List the datasets pinned in the store (newest first) and the bundled one."""
    from hemra.datasets.load import BUNDLED_NAME, load_dataset
    from hemra.datasets.model import BUNDLED
    from hemra.datasets.pins import newest_pins

    store = store_if_any()
    pins = newest_pins(store) if store else {}
    rows = [{**_row(pin), "pinned": True} for pin in reversed(pins.values())]
    if (BUNDLED_NAME, BUNDLED) not in pins:
        bundled = load_dataset(BUNDLED_NAME, store)
        rows.append({"dataset": bundled.name, "digest": bundled.digest, "source": bundled.source,
                     "tasks": len(bundled.tasks), "pinned": False})  # fmt: skip
    if as_json:
        print_json({"schema": "hemra.datasets/1", "datasets": rows})
        return
    print_table(
        [
            Column("dataset", least=12),
            Column("tasks", right=True),
            Column("digest", drop=1),
            Column("pinned"),
            Column("source", least=20, end=True),
        ],
        [
            (r["dataset"], r["tasks"], r["digest"][:19], "yes" if r["pinned"] else "no", r["source"])
            for r in rows
        ],
    )


@dataset.command(examples=[("hemra dataset show hermes", "its tasks and their digests")])
@click.argument("name", metavar="DATASET")
@json_option
@common_options
def show(name: str, as_json: bool) -> None:
    """Show one dataset: as it is pinned, or as it is on disk where it is not pinned."""
    store = store_if_any()
    pinned = _pin_meant(store, name) if store else None
    found: Any = pinned or load(name)
    tasks = [{"task": t.id, "digest": t.digest, "scorer_digest": t.scorer_digest} for t in found.tasks]
    facts = {
        "dataset": found.name,
        "digest": found.digest,
        "source": found.source,
        "pinned": pinned is not None,
    }
    if as_json:
        print_json({"schema": "hemra.dataset/1", **facts, "tasks": tasks})
        return
    print_facts(
        [(key, "yes" if value is True else "no" if value is False else value) for key, value in facts.items()]
    )
    say()
    print_table(
        [Column("task", least=20, end=True), Column("digest")], [(t["task"], t["digest"][:19]) for t in tasks]
    )


def _pin_meant(store: Store, name: str) -> DatasetPinned | None:
    """The pin under this name, or of the folder that it names. Raises UsageError where several fit."""
    from hemra.datasets.load import BUNDLED_NAME
    from hemra.datasets.model import BUNDLED
    from hemra.datasets.pins import pin_of, pins_named
    from hemra.errors import UsageError

    found = pins_named(store, name)
    if name == BUNDLED_NAME:
        found = [pin for pin in found if pin.source == BUNDLED]
    if len(found) > 1:
        folders = ", ".join(pin.source for pin in found)
        raise UsageError(
            f"{len(found)} datasets are pinned under the name {name!r}; name the folder: {folders}"
        )
    if found:
        return found[0]
    return pin_of(store, load(name))
