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
from eventlog.errors import BundleError, DamageError, StreamBusy
from eventlog.failing_disk import refuse_lost
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.mirror.note import NAME as NOTE
from eventlog.recovery import recover
from eventlog.seal import seal, seal_segments
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.undisturbed import undisturbed

#: What a store on a read-only disk, of another user, or on a full disk answers.
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT}


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
def sealed_for_reading(store: Store, names: Sequence[str], out: Path | None = None) -> Iterator[Store]:
    """A store in which these streams are sealed and held: `store`, or a view of it where that cannot be written.

    The view is a temporary folder: it links to what is sealed already, and has sealed copies of the rest. Its
    blobs are the store's. It may be made beside `out`, the file that is to be written. Raises as `sealed_and_held`
    does, and BundleError where there is no room for such a view.
    """
    with contextlib.ExitStack() as held:
        try:
            for name in sorted(names):
                held.enter_context(sealed_and_held(store, name))
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            held.close()
            yield held.enter_context(_view(store, names, out, error))
        else:
            yield store


@contextlib.contextmanager
def _view(store: Store, names: Sequence[str], out: Path | None, refused: OSError) -> Iterator[Store]:
    with contextlib.ExitStack() as held:
        try:
            place = roomy(store, names, out)
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix=".hemra-export-", dir=place))
            view = Store(Path(folder), store.id)
            view.blobs = store.blobs
            view.log.mkdir()
            for name in names:
                _add(view, store, name, held)
        except OSError as error:
            raise BundleError(
                f"cannot seal in {store.path}: {refused.strerror or refused}; and in a copy of it aside: "
                f"{error.strerror or error}; TMPDIR names a folder with more room"
            ) from error
        yield view


def _add(view: Store, store: Store, name: str, held: contextlib.ExitStack) -> None:
    """Put a stream into a view: a link to it where it is sealed, else a sealed copy."""
    path = store.existing_stream(name)
    held.enter_context(undisturbed(path))
    if _is_sealed(path):
        view.stream_path(name).symlink_to(path)
        return
    # A copy of the copy's own: files that cannot be written where they are can be here.
    view.stream_path(name).mkdir()
    files = [path / other for other in (anchors.NAME, manifest.NAME, NOTE)]
    for file in [*files, *(segment.path for segment in list_segments(path))]:
        try:
            shutil.copyfile(file, view.stream_path(name) / file.name)
        except FileNotFoundError:
            continue  # there is none, or recovery says what is missing
        except OSError as error:
            refuse_lost(file, error)
            raise
    seal(view, name)


def roomy(store: Store, names: Sequence[str], out: Path | None) -> str | None:
    """Where to make a view: beside the file that is to be written, where temporary files have no room for it."""
    needed = 2 * sum(segment.size for name in names for segment in list_segments(store.existing_stream(name)))
    if out is None:
        return None
    try:
        free = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:
        free = 0  # there is none that takes a file
    return None if free >= needed else str(out.parent)


def _is_sealed(path: Path) -> bool:
    """Whether everything up to the anchor is sealed and in the manifest."""
    mark = anchors.load(path)
    try:
        written = manifest.load(path)
        return mark is not None and mark.last == written.last and written == manifest.of_directory(path)
    except DamageError:
        return False
