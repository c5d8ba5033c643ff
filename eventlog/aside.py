"""A place aside in a store's folder, where what comes in is made whole and checked before anything of it is visible.

It is a small store of its own on the same file system, so that a rename moves a file or a stream at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from eventlog import bundle_pending
from eventlog.disk import fsync_dir, make_dir, remove_temps
from eventlog.errors import LogError, StreamBusy
from eventlog.lock import Lock
from eventlog.store import Store

_PREFIX = ".import-"
_LOCK_NAME = ".import.lock"
_WAIT_S = 10.0
#: Temp files that were last written this long ago belong to no process that still writes them.
_STALE_S = 24 * 3600.0


@contextlib.contextmanager
def aside(store: Store) -> Iterator[Store]:
    """The place, empty; it is gone at the end, and what killed processes left goes at the beginning.

    One at a time in a store. Raises StreamBusy while another is in use; OSError passes through.
    """
    try:
        lock = Lock(store.path / _LOCK_NAME, _WAIT_S)
    except StreamBusy:
        raise StreamBusy(
            f"another import into {store.path} is under way: try again when it has ended"
        ) from None
    try:
        _remove_leftovers(store)
        place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=store.path))
        try:
            yield Store(place, store.id)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    finally:
        lock.release()


def _remove_leftovers(store: Store) -> None:
    """What killed processes left: an import (we hold the lock, so no other one uses it), blob writers, recoveries."""
    for left in store.path.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in store.path.glob(f".{bundle_pending.NAME}.*.tmp"):
        left.unlink()
    store.blobs.remove_temps(_STALE_S)
    for torn in store.log.glob("*/torn"):
        remove_temps(torn, older_than_s=_STALE_S)


def adopt_blobs(store: Store, staged: Store, blobs: Iterable[tuple[str, int]]) -> None:
    """Move those of the blobs (hex digest, bytes) that the store lacks, or has damaged, into it, durably."""
    directories = set()
    for digest, size in blobs:
        if store.blobs.keeps(digest, size) and _is_sound(store, digest):
            continue
        target, source = store.blobs.file_of(digest), staged.blobs.file_of(digest)
        make_dir(target.parent)
        source.chmod(0o444 & source.stat().st_mode)
        os.replace(source, target)
        directories.add(target.parent)
    for directory in directories:
        fsync_dir(directory)


def _is_sound(store: Store, digest: str) -> bool:
    try:
        store.blobs.check(f"sha256:{digest}")
    except (LogError, OSError):
        return False
    return True


def adopt_stream(store: Store, staged: Store, name: str) -> None:
    """Move a whole stream that the store lacks into it, durably, by one rename."""
    make_dir(store.log)
    os.rename(staged.stream_path(name), store.stream_path(name))
    fsync_dir(store.log)
