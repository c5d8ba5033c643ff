"""Pinning: a dataset's digests go into the store's catalog; content that differs is refused later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eventlog.schemas.runs import DatasetPinned, PinnedTask
from hemra.datasets.model import Dataset, Task
from hemra.datasets.selection import is_trait, matching
from hemra.errors import DatasetChanged

if TYPE_CHECKING:
    from eventlog.store import Store

CATALOG = "catalog"
_LOCK_WAIT_S = 10.0
_SHOWN = 5


#: What a pin belongs to: two folders of one name are two datasets.
Key = tuple[str, str]


def newest_pins(store: Store) -> dict[Key, DatasetPinned]:
    """The newest pin of every dataset in the store's catalog, by (name, source), oldest dataset first."""
    from eventlog.reader import read, resolve

    if not store.stream_path(CATALOG).is_dir():
        return {}
    newest: dict[Key, dict[str, Any]] = {}
    for event in read(store, CATALOG, types=("dataset.pinned",)):
        newest[event.data["name"], event.data["source"]] = event.data
    # The list of files of a large dataset is kept in a blob.
    return {key: msgspec.convert(resolve(store, data), DatasetPinned) for key, data in newest.items()}


def pin_of(store: Store, dataset: Dataset) -> DatasetPinned | None:
    """The newest pin of this dataset, or None where it was never pinned."""
    return newest_pins(store).get((dataset.name, dataset.source))


def pins_named(store: Store, name: str) -> list[DatasetPinned]:
    """The newest pin of every folder (or the bundled suite) that was pinned under `name`."""
    return [pinned for (pinned_name, _), pinned in newest_pins(store).items() if pinned_name == name]


def pin(store: Store, dataset: Dataset) -> DatasetPinned:
    """Record the dataset's content as it is now. The same content is not recorded twice in a row."""
    known = pin_of(store, dataset)
    if known is not None and known.digest == dataset.digest:
        return known
    pinned = DatasetPinned(
        name=dataset.name,
        digest=dataset.digest,
        source=dataset.source,
        tasks=[
            PinnedTask(id=task.id, digest=task.digest, scorer_digest=task.scorer_digest, files=task.files)
            for task in dataset.tasks
        ],
    )
    _append(store, pinned)
    return pinned


def _append(store: Store, pinned: DatasetPinned) -> None:
    from eventlog.errors import StoreError
    from eventlog.stream import StreamWriter

    new = not store.stream_path(CATALOG).is_dir()
    try:
        writer = StreamWriter.open(store, CATALOG, create=new, lock_wait_s=_LOCK_WAIT_S)
    except StoreError:
        if not new or not store.stream_path(CATALOG).is_dir():
            raise
        # Another process made the catalog between the two lines above.
        writer = StreamWriter.open(store, CATALOG, lock_wait_s=_LOCK_WAIT_S)
    with writer:
        writer.append(pinned, source="hemra.datasets")


def ensure_pinned(
    store: Store, dataset: Dataset, tasks: Sequence[Task], globs: Sequence[str] = ()
) -> DatasetPinned:
    """The dataset's newest pin, after a check that what was chosen is on disk as it was pinned.

    The first use of a dataset pins the whole of it. `tasks` were chosen by `globs` (none: all). Raises
    DatasetChanged that names the files, or the pinned tasks that would have been chosen and are gone.
    """
    return check_pinned(store, dataset, tasks, globs) or pin(store, dataset)


def check_pinned(
    store: Store, dataset: Dataset, tasks: Sequence[Task], globs: Sequence[str] = ()
) -> DatasetPinned | None:
    """As `ensure_pinned`, but writes nothing: None for a dataset that was never pinned."""
    known = pin_of(store, dataset)
    if known is None or known.digest == dataset.digest:
        return known
    problems = [*differences(known, tasks), *_removed(known, dataset, globs)]
    if problems:
        raise DatasetChanged(
            f"dataset {dataset.name!r} is not as it was pinned: {'; '.join(problems)}. "
            f"Put it back, or pin it as it is now: {dataset.remedy}"
        )
    return known


def _removed(pinned: DatasetPinned, dataset: Dataset, globs: Sequence[str]) -> Iterator[str]:
    """One phrase for every pinned task that `globs` would choose and that is not there any more. What tags a
    removed task had is not known, so nothing is said where tags or difficulty choose."""
    if any(map(is_trait, globs)):
        return
    there = {task.id for task in dataset.tasks}
    wanted = matching((task.id for task in pinned.tasks), globs)
    yield from (f"task {task_id!r} was removed since" for task_id in sorted(wanted - there))


def differences(pinned: DatasetPinned, tasks: Iterable[Task]) -> Iterable[str]:
    """One phrase for every one of `tasks` that is not as pinned."""
    known = {task.id: task for task in pinned.tasks}
    for task in tasks:
        if task.id not in known:
            yield f"task {task.id!r} was added since"
        elif known[task.id].digest != task.digest:
            yield f"task {task.id!r}: {_changes(known[task.id].files, task.files)}"


def _changes(before: dict[str, str], now: dict[str, str]) -> str:
    kinds = {
        "changed": [path for path in before if path in now and before[path] != now[path]],
        "added": [path for path in now if path not in before],
        "missing": [path for path in before if path not in now],
    }
    return ", ".join(f"{kind} {_listed(paths)}" for kind, paths in kinds.items() if paths)


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(sorted(paths)[:_SHOWN]) + more
