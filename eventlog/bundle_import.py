"""Taking a bundle in: everything is unpacked and checked aside, then made visible piece by piece.

The place aside is a small store of its own inside the real one's folder (the same file system, so that a
rename moves a file at once). The one verifier checks it there: frames, links, seqs, span digests, chain,
blobs. Only then blobs are moved in, after them the streams that name them, and last the catalog says so. A
crash in between leaves blobs that nothing names, or whole streams; the same import again completes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.anchor import Anchor, Mark
from eventlog.blobs import BlobNotFound
from eventlog.bundle import BundleReport, StreamReport, named_blobs, sealed_and_held
from eventlog.bundle_format import BundledStream, Reading, stream_of
from eventlog.crashpoints import crash_point
from eventlog.disk import fsync_dir, make_dir
from eventlog.errors import BundleError, LogError, StreamBusy
from eventlog.lock import Lock
from eventlog.reader import read
from eventlog.schemas.runs import ImportRecorded
from eventlog.segments import Span, list_segments
from eventlog.store import CATALOG, Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify

_ASIDE = ".import-"
_LOCK_NAME = ".import.lock"
_WAIT_S = 10.0
ADDED, EXTENDED, SAME, OLDER = "added", "extended", "same", "older"


def take_in(store: Store, file: BinaryIO, origin: str, max_bytes: int) -> BundleReport:
    """Import from an open file; see `bundle.import_`. `origin` is recorded in the catalog."""
    try:
        lock = Lock(store.path / _LOCK_NAME, _WAIT_S)
    except StreamBusy:
        raise StreamBusy(
            f"another import into {store.path} is under way: try again when it has ended"
        ) from None
    try:
        _remove_leftovers(store)
        aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=store.path))
        try:
            reading = Reading(file, max_bytes)
            staged = Store(aside, store.id)
            _unpack(staged, reading)
            _check(staged, reading)
            return _take_over(store, staged, reading, origin)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise BundleError(f"cannot import into {store.path}: {error.strerror or error}") from error
    finally:
        lock.release()


def _remove_leftovers(store: Store) -> None:
    """What an import left that was killed. We hold the lock, so no other one uses it."""
    for left in store.path.glob(f"{_ASIDE}*"):
        shutil.rmtree(left, ignore_errors=True)


def _unpack(staged: Store, reading: Reading) -> None:
    """Write every member aside, synced, under names that come from the checked index only."""
    for stream in reading.index.streams:
        make_dir(staged.stream_path(stream.name))
    for member, pieces in reading.contents():
        stream_name = stream_of(member.name)
        if stream_name is None:
            path = staged.blobs.file_of(member.sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
        else:
            path = staged.stream_path(stream_name) / member.name.rpartition("/")[2]
        with path.open("xb") as out:
            for piece in pieces:
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
    for stream in reading.index.streams:
        Anchor(staged.stream_path(stream.name), _mark(stream)).close()


def _mark(stream: BundledStream) -> Mark:
    state = anchors.FINISHED if stream.finished else anchors.CLOSED
    return Mark(state, 0, bytes.fromhex(stream.id), 0, 0, stream.last, bytes.fromhex(stream.link))


def _check(staged: Store, reading: Reading) -> None:
    """What can be wrong although every digest is right. Raises BundleError naming the first problem."""
    names = [stream.name for stream in reading.index.streams]
    report = verify(staged, names)
    for problem in report.problems:
        # In what is sealed and whole there is nothing even to note.
        where = problem.path.name if problem.path.is_relative_to(staged.path) else str(problem.path)
        raise BundleError(
            f"its stream {problem.stream} is not sound: {where}: byte {problem.offset}: {problem.cause}"
        )
    for stream in reading.index.streams:
        sealed = manifest.load(staged.stream_path(stream.name))
        if (sealed.last, sealed.head) != (stream.last, stream.chain):
            raise BundleError(
                f"stream {stream.name} of the bundle goes to event {sealed.last}, which is not what it says"
            )
    needed: set[str] = set()
    for name in names:
        for event in read(staged, name):
            try:
                needed |= named_blobs(staged, event)
            except (BlobNotFound, ValueError) as error:
                raise BundleError(
                    f"event {event.seq} of {name} needs a blob that the bundle lacks: {error}"
                ) from None
    carried = {f"sha256:{m.sha256}" for m in reading.index.members if stream_of(m.name) is None}
    if needed != carried:
        odd = min(needed ^ carried)
        raise BundleError(
            f"blob {odd} is " + ("named by an event and missing" if odd in needed else "named by no event")
        )


def _take_over(store: Store, staged: Store, reading: Reading, origin: str) -> BundleReport:
    """Decide about every stream, then move. Raises BundleError before anything is moved."""
    with contextlib.ExitStack() as held:
        verdicts = {stream.name: _verdict(store, staged, stream, held) for stream in reading.index.streams}
        changed = any(what in (ADDED, EXTENDED) for what in verdicts.values())
        blobs = _move_blobs(store, staged, reading) if changed else 0
        crash_point("import.after_blobs")
        for stream in reading.index.streams:
            if verdicts[stream.name] == ADDED:
                make_dir(store.log)
                os.rename(staged.stream_path(stream.name), store.stream_path(stream.name))
                fsync_dir(store.log)
            elif verdicts[stream.name] == EXTENDED:
                _extend(store.stream_path(stream.name), staged.stream_path(stream.name), stream)
            crash_point("import.after_stream")
    if changed:
        _record(store, reading, verdicts, origin, blobs)
    return BundleReport(
        digest=f"sha256:{reading.digest}",
        streams=[
            StreamReport(stream=s.name, events=s.last, what=verdicts[s.name]) for s in reading.index.streams
        ],
        blobs=blobs,
        bytes=sum(member.size for member in reading.index.members),
        changed=changed,
    )


def _verdict(store: Store, staged: Store, stream: BundledStream, held: contextlib.ExitStack) -> str:
    """What to do with one stream; one that exists is held until the import has ended. Raises BundleError."""
    path = store.stream_path(stream.name)
    if not path.exists():
        return ADDED
    held.enter_context(sealed_and_held(store, stream.name))
    mark = anchors.load(path)
    ours, theirs = _spans(path), _spans(staged.stream_path(stream.name))
    shared = min(len(ours), len(theirs))
    if (mark is not None and mark.stream.hex() != stream.id) or ours[:shared] != theirs[:shared]:
        raise BundleError(
            f"stream {stream.name} exists in {store.path} with another content: "
            "import it into another store (--store)"
        )
    if len(theirs) > len(ours):
        return EXTENDED
    if len(theirs) < len(ours):
        return OLDER
    newly_finished = stream.finished and mark is not None and mark.state != anchors.FINISHED
    return EXTENDED if newly_finished else SAME


def _spans(path: Path) -> list[Span]:
    return [span for segment in manifest.load(path).segments for span in segment.spans]


def _move_blobs(store: Store, staged: Store, reading: Reading) -> int:
    """Move the blobs that the store lacks; how many there are in the bundle."""
    count, directories = 0, set()
    for member in reading.index.members:
        if stream_of(member.name) is None:
            count += 1
            target = store.blobs.file_of(member.sha256)
            if not target.exists():
                make_dir(target.parent)
                source = staged.blobs.file_of(member.sha256)
                source.chmod(0o444)
                os.replace(source, target)
                directories.add(target.parent)
    for directory in directories:
        fsync_dir(directory)
    return count


def _extend(path: Path, staged: Path, stream: BundledStream) -> None:
    """Put the longer version's segments over the shorter one's, which they contain (lock held).

    A segment of the same name begins at the same event and reaches at least as far; what it covers is
    passed over by readers. Until the anchor is written they see what they saw.
    """
    for segment in list_segments(staged):
        os.replace(segment.path, path / segment.path.name)
        crash_point("import.after_segment")
    fsync_dir(path)
    manifest.save(path, manifest.of_directory(path))
    old = anchors.load(path)
    counter = old.counter + 1 if old is not None else 0
    Anchor(path, _mark(stream)._replace(counter=counter)).close()
    for leftover in _doubles(path):
        leftover.unlink()
    fsync_dir(path)


def _doubles(path: Path) -> Iterator[Path]:
    known = {segment.file for segment in manifest.load(path).segments}
    return (segment.path for segment in list_segments(path) if segment.path.name not in known)


def _record(store: Store, reading: Reading, verdicts: dict[str, str], origin: str, blobs: int) -> None:
    """Say in the catalog what came from where."""
    brought = [s for s in reading.index.streams if verdicts[s.name] in (ADDED, EXTENDED)]
    event = ImportRecorded(
        origin=origin,
        digest=f"sha256:{reading.digest}",
        streams=[s.name for s in brought],
        events=sum(s.last for s in brought),
        blobs=blobs,
    )
    create = not store.stream_path(CATALOG).exists()
    try:
        with StreamWriter.open(store, CATALOG, create=create, lock_wait_s=_WAIT_S) as catalog:
            catalog.append(event, source="import")
    except LogError as error:
        raise BundleError(f"the runs are imported, but the catalog cannot say so: {error}") from error
