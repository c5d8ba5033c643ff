"""Making an unpacked and checked bundle part of the store, so that a crash at any point can be made good.

First the blobs, after them the streams that name them, last the catalog says so. A stream that the store
lacks arrives by one rename. One that it has is extended in steps of which each leaves it readable as it was
or longer; until the anchor is written it counts as it was. The same import again completes what was cut short.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from eventlog import anchor as anchors
from eventlog import bundle_pending, manifest
from eventlog.anchor import Anchor, Mark
from eventlog.aside import adopt_blobs, adopt_stream
from eventlog.bundle_format import BundledStream, Reading, stream_of
from eventlog.bundle_hold import sealed_and_held
from eventlog.bundle_merge import parting
from eventlog.bundle_pending import Pending
from eventlog.bundle_report import BundleReport, StreamReport
from eventlog.crashpoints import crash_point
from eventlog.disk import fsync_dir
from eventlog.errors import BundleError, DamageError, LogError
from eventlog.manifest import SealedFile
from eventlog.reader import read, stream_state
from eventlog.schemas.runs import ImportRecorded
from eventlog.segments import list_segments
from eventlog.store import CATALOG, Store
from eventlog.stream import StreamWriter

_WAIT_S = 10.0
ADDED, EXTENDED, SAME, OLDER = "added", "extended", "same", "older"


def mark_of(stream: BundledStream, counter: int = 0) -> Mark:
    """What the anchor of a bundled stream says."""
    state = anchors.FINISHED if stream.finished else anchors.CLOSED
    return Mark(state, counter, bytes.fromhex(stream.id), 0, 0, stream.last, bytes.fromhex(stream.link))


def take_over(store: Store, staged: Store, reading: Reading, origin: str) -> BundleReport:
    """Decide about every stream, then move. Raises BundleError, StreamBusy, DamageError before anything is moved."""
    bundled = reading.index.streams
    digest = f"sha256:{reading.digest}"
    carried = [m for m in reading.index.members if stream_of(m.name) is None]
    with contextlib.ExitStack() as held:
        verdicts = {stream.name: _verdict(store, staged, stream, held) for stream in bundled}
        changing = {s.name: s.last for s in bundled if verdicts[s.name] in (ADDED, EXTENDED)}
        pending = _announce(store, digest, changing)
        adopt_blobs(store, staged, [(member.sha256, member.size) for member in carried])
        crash_point("import.after_blobs")
        for stream in bundled:
            if verdicts[stream.name] == ADDED:
                adopt_stream(store, staged, stream.name)
            elif verdicts[stream.name] == EXTENDED:
                _extend(store.stream_path(stream.name), staged.stream_path(stream.name), stream)
            crash_point("import.after_stream")
    if pending is not None:
        names, events = list(pending.streams), sum(pending.streams.values())
        event = ImportRecorded(origin=origin, digest=digest, streams=names, events=events, blobs=len(carried))
        _record(store, event, pending.catalog_last)
        crash_point("import.after_record")
        bundle_pending.end(store, digest)
    return BundleReport(
        digest=digest,
        streams=[StreamReport(stream=s.name, events=s.last, what=verdicts[s.name]) for s in bundled],
        blobs=len(carried) if pending is not None else 0,
        bytes=sum(member.size for member in reading.index.members),
        changed=pending is not None,
    )


def _announce(store: Store, digest: str, changing: dict[str, int]) -> Pending | None:
    """Say durably which streams will change, with those of an earlier try that was cut short; None: nothing will."""
    before = bundle_pending.load(store).get(digest)
    if before is not None:
        # Where the catalog stood then: the earlier try may have got as far as recording.
        pending = Pending(streams={**before.streams, **changing}, catalog_last=before.catalog_last)
    elif changing:
        exists = store.stream_path(CATALOG).exists()
        pending = Pending(
            streams=changing, catalog_last=stream_state(store, CATALOG).last_seq if exists else 0
        )
    else:
        return None
    bundle_pending.begin(store, digest, pending)
    return pending


def _verdict(store: Store, staged: Store, stream: BundledStream, held: contextlib.ExitStack) -> str:
    """What to do with one stream; one that exists is held until the import has ended.

    Raises BundleError, StreamBusy, DamageError.
    """
    path = store.stream_path(stream.name)
    if not path.exists():
        return ADDED
    held.enter_context(sealed_and_held(store, stream.name))
    mark = anchors.load(path)
    if mark is None:
        raise DamageError(path / anchors.NAME, 0, "the anchor is missing or unreadable")
    other_id = mark.stream.hex() != stream.id
    parted = parting(store, staged, stream.name) if mark.last else None
    if parted is not None or (other_id and mark.last):
        why = parted or "it is another stream of that name"
        raise BundleError(
            f"stream {stream.name} exists in {store.path} with another content: {why}; to keep both, import it "
            "into another store (--store)"
        )
    if stream.last < mark.last:
        return OLDER
    # The segments may all be here: an import can be cut short before it writes the anchor, and a stream's
    # maker before its first event.
    behind = mark.last < stream.last or (stream.finished and mark.state != anchors.FINISHED)
    return EXTENDED if behind or other_id else SAME


def _extend(path: Path, staged: Path, stream: BundledStream) -> None:
    """Put the longer version's segments beside and over the shorter one's (lock held)."""
    ours, theirs = manifest.load(path), manifest.load(staged)
    for file in _steps(ours.segments, theirs.segments):
        os.replace(staged / file.file, path / file.file)
        fsync_dir(path)  # the order of the steps is what keeps each of them whole
        crash_point("import.after_segment")
    old = anchors.load(path)
    Anchor(path, mark_of(stream, old.counter + 1 if old is not None else 0)).close()
    crash_point("import.after_anchor")
    sealed = manifest.of_directory(path)
    manifest.save(path, sealed)
    known = {file.file for file in sealed.segments}
    for segment in list_segments(path):
        if segment.path.name not in known:
            segment.path.unlink()
    fsync_dir(path)


def _steps(ours: Sequence[SealedFile], theirs: Sequence[SealedFile]) -> list[SealedFile]:
    """Which of their files to move in, and in which order.

    Files that end inside ours bring nothing, but for those from which the first longer one goes on: where
    files are cut otherwise than ours, that one stands hidden below a file of ours until the one that begins
    where ours does takes its place. All after it follow upwards. Where the same events were sealed in other
    spans, all that follows them chains to those: their files come in from there on.
    """
    last = ours[-1].last if ours else 0
    begins = {file.first for file in ours} | {last + 1}
    longer = next((index for index, file in enumerate(theirs) if file.last > last), None)
    if longer is None:
        return []
    pairs = zip(*([span for file in files for span in file.spans] for files in (ours, theirs)), strict=False)
    differs = next((span.first for span, other in pairs if span != other), last + 1)
    from_ours = max(
        index
        for index in range(longer + 1)
        if theirs[index].first in begins and theirs[index].first <= differs
    )
    return [*reversed(theirs[from_ours : longer + 1]), *theirs[longer + 1 :]]


def _record(store: Store, event: ImportRecorded, place: int) -> None:
    """Say in the catalog what came from where, unless it does already after seq `place`."""
    create = not store.stream_path(CATALOG).exists()
    try:
        with StreamWriter.open(store, CATALOG, create=create, lock_wait_s=_WAIT_S) as catalog:
            later = () if create else read(store, CATALOG, start=place + 1, types=(ImportRecorded.type,))
            if not any(e.data["digest"] == event.digest for e in later):
                catalog.append(event, source="import")
    except LogError as error:
        raise BundleError(f"the runs are imported, but the catalog cannot say so: {error}") from error
