"""Holding streams that are to be exported or extended: whole, sealed, and written by nobody meanwhile."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.errors import DamageError, StreamBusy
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.recovery import recover
from eventlog.seal import seal, seal_segments
from eventlog.store import Store
from eventlog.undisturbed import undisturbed

#: What a store on a read-only disk, or of another user, answers.
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextlib.contextmanager
def sealed_and_held(store: Store, name: str) -> Iterator[None]:
    """Recover and seal a stream that nobody writes and keep writers away meanwhile.

    Inside, its anchor stands at its last sealed event. Raises StreamBusy, DamageError; OSError in a store that
    cannot be written.
    """
    path = store.existing_stream(name)
    try:
        lock = Lock(path / LOCK)
    except StreamBusy as busy:
        raise StreamBusy(
            f"{busy}: export or import it when the run has ended (`hemra cancel` ends it)"
        ) from None
    try:
        recover(path)
        manifest.begin(path)
        seal_segments(path)
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def sealed_for_reading(store: Store, names: Sequence[str]) -> Iterator[Store]:
    """A store in which these streams are sealed and held: `store`, or a view of it where that cannot be written.

    The view is a temporary folder: it links to what is sealed already, and has sealed copies of the rest. Its
    blobs are the store's. Raises as `sealed_and_held` does.
    """
    with contextlib.ExitStack() as held:
        try:
            for name in sorted(names):
                held.enter_context(sealed_and_held(store, name))
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            held.close()
            yield held.enter_context(_view(store, names))
        else:
            yield store


@contextlib.contextmanager
def _view(store: Store, names: Sequence[str]) -> Iterator[Store]:
    with contextlib.ExitStack() as held:
        view = Store(Path(held.enter_context(tempfile.TemporaryDirectory(prefix="hemra-export-"))), store.id)
        view.blobs = store.blobs
        view.log.mkdir()
        for name in names:
            path = store.existing_stream(name)
            held.enter_context(undisturbed(path))
            if _is_sealed(path):
                view.stream_path(name).symlink_to(path)
            else:
                # A copy of the copy's own: files that cannot be written where they are can be here.
                shutil.copytree(path, view.stream_path(name), copy_function=shutil.copyfile)
                seal(view, name)
        yield view


def _is_sealed(path: Path) -> bool:
    """Whether everything up to the anchor is sealed and in the manifest."""
    mark = anchors.load(path)
    try:
        written = manifest.load(path)
        return mark is not None and mark.last == written.last and written == manifest.of_directory(path)
    except DamageError:
        return False
