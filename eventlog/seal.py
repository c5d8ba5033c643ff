"""Sealing: segments that are no longer written are rewritten with larger frames and a seek table.

The NDJSON bytes stay the same. Order of steps, so that a crash between any two loses nothing: write the
sealed file aside and sync it; rename it over the first source (same name: same first seq); write the
manifest; remove the other sources, which readers already pass over.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.crashpoints import crash_point
from eventlog.disk import fsync_dir, replacing
from eventlog.errors import DamageError, StreamBusy
from eventlog.failing_disk import reading
from eventlog.frames import (
    NO_LINK,
    SEALED_CONTENT,
    NotAUnit,
    SeekTable,
    content_of,
    pack_trailer,
    pack_unit,
    walk,
)
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.producers import remember
from eventlog.segments import Segment, Span, Trailer, is_sealed, trailer_of, visible_segments
from eventlog.spans import SpanDigests
from eventlog.store import Store

#: A sealed file takes no further sources once they add up to this many bytes.
GROUP_BYTES = 64 * 1024 * 1024
#: Sealed files below this size are merged with what follows them.
SMALL_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SealReport:
    """What a seal did. Sizes in bytes."""

    stream: str
    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int


def seal(store: Store, name: str) -> SealReport:
    """Seal every segment of a stream that nobody writes. Raises StreamBusy, StreamNotFound, DamageError."""
    path = store.existing_stream(name)
    try:
        lock = Lock(path / LOCK)
    except StreamBusy as busy:
        raise StreamBusy(f"{busy}; it seals its segments itself when the run ends") from None
    try:
        from eventlog.recovery import recover

        recover(path)
        before = visible_segments(path)
        sizes = sum(s.size for s in before)
        seal_segments(path)
        after = visible_segments(path)
        return SealReport(name, len(before), len(after), sizes, sum(s.size for s in after))
    finally:
        lock.release()


def seal_segments(directory: Path, *, below: int | None = None) -> None:
    """Seal all segments (those whose first seq is below `below`). The caller holds the stream's lock.

    The anchor says how far the last segment goes: the caller has recovered the stream or writes it. Raises
    DamageError, also when the anchor is missing or a slot of it is not as written: nobody can then say what there must
    be to keep.
    """
    mark = anchors.load(directory)
    if mark is None:
        raise DamageError(directory / anchors.NAME, 0, "the anchor is missing or unreadable")
    slots = anchors.slots(directory)
    if below is None and None in slots:
        # What the other slot does not know of would be left out, and its segment then removed.
        offset = 512 * slots.index(None)
        raise DamageError(
            directory / anchors.NAME,
            offset,
            "a slot is damaged, so the end is in doubt; open the stream first",
        )
    # What begins above the mark was refused as a whole (a disk that failed kept it from being removed).
    end = mark.last + 1 if below is None else below
    segments = [s for s in visible_segments(directory) if s.first < end]
    bounds = {s.first: n.first for s, n in pairwise(segments)}
    replaced: list[Segment] = []
    manifest.begin(directory)
    for group in _groups(segments):
        _seal_group(directory, group, bounds.get(group[-1].first, end) - 1, mark.stream)
        replaced += group[1:]
    manifest.save(directory, manifest.of_directory(directory))
    crash_point("seal.after_manifest")
    # By name, never by looking again: a writer may have begun a new segment meanwhile.
    for segment in replaced:
        segment.path.unlink()
    if replaced:
        fsync_dir(directory)


def _groups(segments: list[Segment]) -> list[list[Segment]]:
    """Neighbours that become one file each; a large sealed segment is left alone."""
    groups: list[list[Segment]] = []
    current: list[Segment] = []
    for segment in segments:
        if is_sealed(segment) and segment.size >= SMALL_BYTES:
            groups.append(current)
            current = []
            continue
        if current and sum(s.size for s in current) + segment.size > GROUP_BYTES:
            groups.append(current)
            current = []
        current.append(segment)
    groups.append(current)
    return [g for g in groups if g and not (len(g) == 1 and is_sealed(g[0]))]


@dataclass
class _Output:
    """The sealed file being written."""

    file: BinaryIO
    stream: bytes
    first: int
    link: bytes
    table: SeekTable = field(default_factory=SeekTable)
    pending: bytearray = field(default_factory=bytearray)
    count: int = 0

    def add(self, content: bytes, count: int) -> None:
        """Take whole lines; frames are cut at about SEALED_CONTENT bytes."""
        self.pending += content
        self.count += count
        if len(self.pending) >= SEALED_CONTENT:
            self.flush()

    def flush(self) -> None:
        """Write what is pending as one frame."""
        if not self.count:
            return
        content = bytes(self.pending)
        last = self.first + self.count - 1
        packed = pack_unit(
            content, stream=self.stream, first=self.first, count=self.count, synced=last, prev=self.link, marks={},
            sealed=True,
        )  # fmt: skip
        self.link = packed.link
        self.file.write(packed.header)
        self.file.write(packed.frame)
        self.table.add_unit(len(packed.header), len(content), packed.frame)
        self.first = last + 1
        self.pending.clear()
        self.count = 0


def _seal_group(directory: Path, group: list[Segment], last: int, stream: bytes) -> None:
    chain = _chain_before(directory, group[0])
    spans: list[Span] = []
    marks: dict[str, int] = {}
    with replacing(group[0].path) as file:
        out = _Output(file, stream, group[0].first, _first_prev(group[0]))
        for index, segment in enumerate(group):
            end = group[index + 1].first - 1 if index + 1 < len(group) else last
            copied = _copy_segment(segment, end, out, chain, marks)
            spans.extend(copied)
            chain = copied[-1].chain
        out.flush()
        trailer = pack_trailer(Trailer(spans, out.link.hex(), marks).to_json())
        file.write(trailer)
        out.table.add_skippable(len(trailer))
        file.write(out.table.pack())
        crash_point("seal.before_rename")
    crash_point("seal.after_rename")


def _first_prev(segment: Segment) -> bytes:
    with segment.path.open("rb") as file:
        for unit in reading(segment.path, walk(file)):
            return unit.header.prev
    return NO_LINK


def _chain_before(directory: Path, segment: Segment) -> str:
    before = [s for s in visible_segments(directory) if s.first < segment.first]
    if not before:
        return manifest.CHAIN_START
    return trailer_of(before[-1]).spans[-1].chain


def _copy_segment(segment: Segment, last: int, out: _Output, chain: str, marks: dict[str, int]) -> list[Span]:
    """Copy a segment's lines up to seq `last`, checking every frame on the way; returns its spans.

    An unsealed source makes one new span; a sealed one keeps its own, whose digests are checked.
    """
    known = trailer_of(segment) if is_sealed(segment) else None
    digests = SpanDigests(known.spans if known else [])
    running, first, events, size = hashlib.sha256(), segment.first, 0, 0
    expected, link = segment.first, None
    with segment.path.open("rb") as file:
        try:
            for unit in reading(segment.path, walk(file)):
                header = unit.header
                if header.first > last:
                    break
                if header.first != expected:
                    raise NotAUnit(header.offset, f"event {expected} should stand here", short=False)
                if link not in (None, header.prev):
                    raise NotAUnit(header.offset, "this frame does not follow the one before it", short=False)
                content = content_of(unit)
                for span in digests.feed(content):
                    cause = f"events {span.first} to {span.last} do not match their digest"
                    raise DamageError(segment.path, header.offset, cause)
                out.add(content, header.events)
                expected, link = header.last + 1, unit.link
                events, size = events + header.events, size + len(content)
                remember(marks, {p.hex(): n for p, n in header.marks.items()})
                running.update(content)
        except NotAUnit as stop:
            if expected != last + 1:
                raise DamageError(segment.path, stop.offset, stop.cause) from stop
    if expected != last + 1:
        raise DamageError(segment.path, segment.size, f"events {expected} to {last} are missing")
    if known is not None:
        remember(marks, known.marks)
        return known.spans
    digest = running.hexdigest()
    return [Span(first, last, events, size, digest, manifest.chain(chain, digest), (link or NO_LINK).hex())]
