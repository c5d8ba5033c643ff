"""Where a projection puts what does not fit in memory, or has to lie in a file for DuckDB to read it.

In the store's cache; where that cannot be written (read-only, full) in the system's temp folder; and where
that cannot be either, in memory. Reading a store must work on a disk that has no room left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from eventlog import clock
from eventlog.store import Store

#: What a place answers that has no room, or that may not be written.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
#: Scratch folders that a killed process left are removed after this time.
_STALE_NS = 24 * 3600 * 1_000_000_000


class Scratch:
    """Private folders, the best place first, and none at all where nothing can be written."""

    def __init__(self, folders: list[Path], held: contextlib.ExitStack) -> None:
        self.folders = folders
        self._held = held

    @property
    def spill(self) -> str:
        """Where DuckDB may move what does not fit; empty: nowhere."""
        return str(self.folders[0] / "spill") if self.folders else ""

    def file(self, name: str, lines: Callable[[], Iterable[bytes]]) -> str:
        """A path to a file with what `lines()` gives, in the first place that has room for all of it.

        `lines` is asked again for each place. Raises OSError when even memory is no way out.
        """
        for folder in self.folders:
            try:
                with (folder / name).open("wb") as file:
                    file.writelines(lines())
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                (folder / name).unlink(missing_ok=True)
            else:
                return str(folder / name)
        return self._in_memory(name, lines())

    def _in_memory(self, name: str, lines: Iterable[bytes]) -> str:
        if not hasattr(os, "memfd_create"):
            raise OSError(errno.ENOSPC, "no room for a scratch file in the store's cache or the temp folder")
        file = self._held.enter_context(os.fdopen(os.memfd_create(name), "wb"))
        file.writelines(lines)
        file.flush()
        return f"/proc/self/fd/{file.fileno()}"


@contextlib.contextmanager
def scratch(store: Store) -> Iterator[Scratch]:
    """Room for one projection; all of it is gone afterwards."""
    with contextlib.ExitStack() as held:
        folders = []
        for make in (_in_cache, _in_system):
            with contextlib.suppress(OSError):
                folder = make(store)
                held.callback(shutil.rmtree, folder, ignore_errors=True)
                folders.append(folder)
        yield Scratch(folders, held)


def _in_cache(store: Store) -> Path:
    parent = store.cache / "scratch"
    parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(parent)
    return Path(tempfile.mkdtemp(prefix="hemra-", dir=parent))


def _in_system(_: Store) -> Path:
    return Path(tempfile.mkdtemp(prefix="hemra-"))


def _remove_stale(parent: Path) -> None:
    for folder in parent.iterdir():
        with contextlib.suppress(OSError):
            if clock.wall_ns() - folder.stat().st_mtime_ns > _STALE_NS:
                shutil.rmtree(folder, ignore_errors=True)
