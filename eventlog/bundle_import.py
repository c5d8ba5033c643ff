"""Taking a bundle in: everything is unpacked and checked aside, then made visible by `bundle_takeover`.

The one verifier checks it there: frames, links, seqs, span digests, chain,
blobs. Nothing of it is trusted before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from eventlog import manifest
from eventlog.anchor import Anchor
from eventlog.aside import aside
from eventlog.bundle_format import MAX_BYTES, Reading, stream_of
from eventlog.bundle_limits import check_content, check_room
from eventlog.bundle_report import BundleReport
from eventlog.bundle_takeover import mark_of, take_over
from eventlog.disk import make_dir
from eventlog.errors import BundleError, LogError, NotABundle
from eventlog.payloads import all_blobs
from eventlog.reader import read
from eventlog.repaired import lost_blobs
from eventlog.store import Store
from eventlog.verify import verify
from eventlog.verify_report import INFO


def import_(store: Store, source: Path | BinaryIO, *, max_bytes: int = MAX_BYTES) -> BundleReport:
    """Take a bundle in. Nothing of it becomes visible before every digest and chain was checked.

    The same bundle again changes nothing. A stream that the store has already must be the same, or its
    beginning, or longer; a bundle whose files and decompressed events are more than `max_bytes` is refused.
    What was brought is recorded in the catalog. Raises BundleError, StreamBusy, and DamageError for a stream
    of the store that is not sound itself.
    """
    if not isinstance(source, Path):
        return _take_in(store, source, "-", max_bytes)
    try:
        file = source.open("rb")
    except IsADirectoryError:
        raise NotABundle(f"{source} is a folder; a bundle is one file") from None
    except OSError as error:
        raise BundleError(f"cannot read {source}: {error.strerror}") from None
    with file:
        return _take_in(store, file, source.name, max_bytes)


def _take_in(store: Store, file: BinaryIO, origin: str, max_bytes: int) -> BundleReport:
    """Import from an open file; see `import_`. `origin` is recorded in the catalog."""
    try:
        with aside(store) as staged:
            reading = Reading(file, max_bytes)
            check_room(store, reading.index)
            _unpack(staged, reading)
            check_content(staged, reading.index, max_bytes)
            _check(staged, reading)
            return take_over(store, staged, reading, origin)
    except OSError as error:
        raise BundleError(f"cannot import into {store.path}: {error.strerror or error}") from error


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
        Anchor(staged.stream_path(stream.name), mark_of(stream)).close()


def _check(staged: Store, reading: Reading) -> None:
    """What can be wrong although every digest is right. Raises BundleError naming the first problem."""
    names = [stream.name for stream in reading.index.streams]
    report = verify(staged, names)
    for problem in (p for p in report.problems if p.severity != INFO):
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
    carried = {f"sha256:{m.sha256}" for m in reading.index.members if stream_of(m.name) is None}
    needed = _needed(staged, names)
    if needed != carried:
        odd = min(needed ^ carried)
        raise BundleError(
            f"blob {odd} is " + ("named by an event and missing" if odd in needed else "named by no event")
        )


def _needed(staged: Store, names: Sequence[str]) -> set[str]:
    """Digests of all blobs that the streams' events need. Raises BundleError where one cannot be told."""
    needed: set[str] = set()
    given_up = lost_blobs(staged, names)
    for name in names:
        for event in read(staged, name):
            try:
                needed |= all_blobs(staged.blobs, event, but=given_up)
            except LogError as error:
                raise BundleError(
                    f"event {event.seq} of {name} needs a blob that the bundle lacks: {error}"
                ) from None
    return needed
