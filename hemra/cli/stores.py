"""The store of an invocation, and the runs and trials in it that a user names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hemra.cli.context import settings
from hemra.cli.output import note

if TYPE_CHECKING:
    from eventlog.store import Store


def open_store(*, create: bool = False) -> Store:
    """The store of this invocation. Raises NotFound where there is none (and none is to be made)."""
    from eventlog.store import Store
    from hemra.errors import NotFound

    path = settings().store_path()
    if not create and not there_is_a_store():
        raise NotFound(f"no store at {path}; `hemra run` makes one, and --store names another")
    return Store.open(path, create=create)


@contextlib.contextmanager
def store_for_import() -> Iterator[Store]:
    """The store of this invocation, made where there is none. One that was made goes again when nothing came into it
    and the body raises."""
    path = settings().store_path()
    there, fresh = path.is_dir(), not there_is_a_store()
    store = open_store(create=True)
    try:
        yield store
    except BaseException:
        if fresh:
            _unmake(store, with_folder=not there)
        raise


def _unmake(store: Store, *, with_folder: bool) -> None:
    """Remove a store that holds nothing. What somebody brings in at this moment cannot be removed like this."""
    folders = (store.log, store.path / "blobs", store.cache)
    with contextlib.suppress(OSError):
        if any(entry for folder in folders for entry in folder.iterdir()):
            return
        for folder in folders:
            folder.rmdir()
        for file in (store.path / ".import.lock", store.path / "store.json"):
            file.unlink()
        if with_folder:
            store.path.rmdir()


def there_is_a_store() -> bool:
    """Whether anything lies where the store should be; whether it is a store, opening it tells."""
    path = settings().store_path()
    return (path / "store.json").exists() or (path.is_dir() and any(path.iterdir()))


def store_if_any() -> Store | None:
    """The store, or None (with a note on stderr) where there is none: a list of nothing is no error."""
    if there_is_a_store():
        return open_store()
    note(f"no store at {settings().store_path()} yet; `hemra run` makes one, and --store names another")
    return None


def resolve_run(store: Store, reference: str) -> str:
    """The run meant by an id, the beginning of one, a name, or `latest`. Raises NotFound, RunNotFound."""
    from eventlog.store import CATALOG
    from hemra.errors import NotFound
    from projections.query import resolve_run as resolve

    runs = [name for name in store.streams() if name != CATALOG]
    if reference in runs:
        return reference
    if reference == "latest":
        if not runs:
            raise NotFound(f"no run in {store.path} yet; `hemra run` makes one")
        return runs[-1]
    return resolve(store, reference)


def resolve_stream(store: Store, reference: str) -> str:
    """As `resolve_run`, and `catalog`."""
    return reference if reference in store.streams() else resolve_run(store, reference)


def check_trials(store: Store, stream: str, trials: tuple[str, ...]) -> None:
    """Refuse (NotFound) trials that the run's plan does not have; a stream without a plan has any."""
    from eventlog.reader import read
    from hemra.errors import NotFound

    planned = (
        next(read(store, stream, types=("run.planned",), on_damage=lambda _: None), None) if trials else None
    )
    if planned is None:
        return
    count = planned.data.get("trials")
    for trial in trials:
        position = int(trial) if trial.isdecimal() and len(trial) < 10 else 0
        if isinstance(count, int) and not (1 <= position <= count and trial == f"{position:04d}"):
            raise NotFound(f"no trial {trial!r} in {stream}; it has 0001 to {count:04d}")
