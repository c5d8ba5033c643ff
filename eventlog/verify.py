"""Whether a store is sound: every frame, link, seq, span digest, manifest, anchor slot and blob.

Verification reads everything and changes nothing. It never stops at the first problem, and while a stream is
written or sealed it sees nothing that is not there: a segment is judged by one open file, and how far the
anchor reaches is asked after how far the segments do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from eventlog import anchor as anchors
from eventlog import bundle_pending, manifest
from eventlog.blobs import BlobNotFound
from eventlog.envelope import Event, decode_lines
from eventlog.errors import BadEvent, DamageError, LogError
from eventlog.frames import NotAUnit, SeekTable, content_of, find_header, walk, walk_headers
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.manifest import Manifest
from eventlog.payloads import Need, needs, needs_of_payload
from eventlog.reader import anchor_lost, read_content
from eventlog.segments import (
    Segment,
    list_segments,
    sealed_in,
    settled,
    trailer_in,
    visible_segments,
)
from eventlog.spans import SpanDigests
from eventlog.store import Store

ERROR, NOTE = "error", "note"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be. Only `error` makes a store unsound; a `note` is for information."""

    stream: str
    path: Path
    offset: int
    cause: str
    severity: str = ERROR

    def __str__(self) -> str:
        return f"{self.stream}: {self.path}: byte {self.offset}: {self.cause}"


@dataclass
class StreamReport:
    """What was checked of one stream. `bytes` are uncompressed NDJSON."""

    stream: str
    events: int = 0
    bytes: int = 0
    segments: int = 0
    blobs: int = 0
    chain: str = manifest.CHAIN_START
    live: bool = False


@dataclass
class VerifyReport:
    """All streams checked and every problem found."""

    streams: list[StreamReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing is unsound."""
        return not any(p.severity == ERROR for p in self.problems)


def verify(store: Store, streams: Sequence[str] | None = None) -> VerifyReport:
    """Check the named streams, or all. Raises StreamNotFound for a name that does not exist."""
    report = VerifyReport()
    checked_blobs: set[Need] = set()
    for name in streams if streams is not None else store.streams():
        path = store.existing_stream(name)
        _Check(store, name, path, report, checked_blobs).run()
    return report


@dataclass
class _Reach:
    """How far a stream goes by its segments: sealed, and by what headers say was durable before them."""

    sealed: int = 0
    proven: int = 0
    #: Path, offset and cause of what stands above the anchor and was perhaps never acknowledged.
    tails: list[tuple[Path, int, str]] = field(default_factory=list)


class _Check:
    """Checks one stream."""

    def __init__(self, store: Store, name: str, path: Path, report: VerifyReport, blobs: set[Need]) -> None:
        self.store = store
        self.path = path
        self.report = report
        self.blobs = blobs
        self.stream = StreamReport(name)
        self.stream.live = is_held(path / LOCK)
        report.streams.append(self.stream)

    def problem(self, path: Path, offset: int, cause: str, severity: str = ERROR) -> None:
        """Report one problem of this stream; the same one is reported once."""
        found = Problem(self.stream.stream, path, offset, cause, severity)
        if found not in self.report.problems:
            self.report.problems.append(found)

    def damage(self, error: DamageError) -> None:
        """A problem from a DamageError."""
        self.problem(error.path, error.offset, error.cause)

    def guarded(self, check: Callable[[], None]) -> None:
        """Run one check; what cannot be read is a problem like any other."""
        try:
            check()
        except DamageError as error:
            self.damage(error)
        except LogError as error:
            self.problem(self.path, 0, str(error))
        except OSError as error:
            where = (
                Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else self.path
            )
            self.problem(where, 0, f"it cannot be read: {error.strerror or error}")

    def run(self) -> None:
        """All checks, in an order that names the most basic fault first."""
        for check in (self._anchor, self._events, self._segments, self._manifest):
            self.guarded(check)

    def _anchor(self) -> None:
        path = self.path / anchors.NAME
        slots = anchors.slots(self.path)
        if all(slot is None for slot in slots):
            begun = path.exists() or list_segments(self.path) or (self.path / manifest.NAME).exists()
            if not begun:
                self.problem(
                    path, 0, "nothing was ever recorded: its maker died before the first event", NOTE
                )
                return
            self.damage(anchor_lost(self.path))
            return
        for index, slot in enumerate(slots):
            # A live writer may be in the middle of a slot; at rest a bad slot always means something.
            if slot is None and not self.stream.live:
                self.problem(path, index * 512, "an anchor slot is damaged; the other one is used")

    def _events(self) -> None:
        for content in read_content(self.store, self.stream.stream, on_damage=self.damage):
            try:
                events = decode_lines(content.lines)
            except Exception as error:  # noqa: BLE001 - whatever the decoder says of bytes that are no events
                self.problem(self.path, 0, f"events from {content.first} do not decode: {error}")
                continue
            if [e.seq for e in events] != list(range(content.first, content.first + content.events)):
                self.problem(self.path, 0, f"seq is not dense from {content.first}")
            self.stream.events += len(events)
            self.stream.bytes += len(content.lines)
            if b'"$blob"' in content.lines or b'"artifact.stored"' in content.lines:
                for event in events:
                    self._blobs(event)

    def _blobs(self, event: Event) -> None:
        try:
            pending = needs(event)
        except BadEvent as error:
            self.problem(self.path, 0, str(error))
            return
        while pending:
            need = pending.pop()
            if need in self.blobs:
                continue
            self.blobs.add(need)
            self.stream.blobs += 1
            try:
                self.store.blobs.check(need.digest)
                if need.json:
                    pending += needs_of_payload(self.store.blobs, need.digest)
            except (BlobNotFound, BadEvent) as error:
                self.problem(self.store.blobs.root, 0, f"event {event.seq}: {error}")
            except DamageError as error:
                self.damage(error)

    def _segments(self) -> None:
        """Each segment, and whether any of them goes further than the anchor may stand."""
        reach = settled(self.path, self._each_segment)
        mark = anchors.load(self.path)
        if mark is None:
            return
        if max(reach.sealed, reach.proven) <= mark.last:
            for tail in reach.tails:
                self.problem(*tail, NOTE)
            return
        # Sealed is only what is durable, and a header names only what was: the anchor must have stood there.
        path, last = self.path / anchors.NAME, max(reach.sealed, reach.proven)
        extended = bundle_pending.last_brought(self.store, self.stream.stream)
        if reach.proven <= mark.last and reach.sealed <= extended:
            cause = (
                f"an import from event {mark.last} on to {extended} was cut short: import the bundle again"
            )
            self.problem(path, 0, cause, NOTE)
            return
        lost = f"events {mark.last + 1} to {last} were acknowledged"
        self.problem(path, 0, f"it is older than the stream: {lost}, and it stands at {mark.last}")

    def _each_segment(self) -> _Reach:
        try:
            segments = visible_segments(self.path)
        except DamageError as error:
            self.damage(error)
            segments = list_segments(self.path)
        self.stream.segments = len(segments)
        reach = _Reach()
        for index, segment in enumerate(segments):
            following = segments[index + 1].first if index + 1 < len(segments) else None
            with segment.path.open("rb") as file:
                if not sealed_in(file):
                    self._unsealed(segment, file, following, reach)
                    continue
                try:
                    reach.sealed = max(reach.sealed, self._sealed(segment, file))
                except DamageError as error:
                    self.damage(error)
        return reach

    def _sealed(self, segment: Segment, file: BinaryIO) -> int:
        """Seqs, span digests over the uncompressed bytes, and the seek table byte for byte; returns the last seq."""
        trailer, place, end = trailer_in(segment, file)
        digests, table = SpanDigests(trailer.spans), SeekTable()
        offset, expected, link = 0, trailer.first, trailer.link
        try:
            for unit in walk(file):
                header = unit.header
                if header.first != expected:
                    self.problem(segment.path, header.offset, f"event {expected} should stand here")
                for span in digests.feed(content_of(unit)):
                    cause = f"events {span.first} to {span.last} do not match their digest"
                    self.problem(segment.path, header.offset, cause)
                table.add_unit(header.size, header.content_len, unit.frame)
                offset, expected, link = header.end, header.last + 1, unit.link.hex()
        except NotAUnit as stop:
            self.problem(segment.path, stop.offset, stop.cause)
            return trailer.last
        if link != trailer.link:
            self.problem(segment.path, place, "the last frame is not the one that the trailer names")
        if not digests.complete or offset != place or expected != trailer.last + 1:
            cause = f"the frames end at event {expected - 1}, which is not what the trailer says"
            self.problem(segment.path, offset, cause)
            return trailer.last
        table.add_skippable(end - place)
        file.seek(end)
        if file.read() != table.pack():
            self.problem(segment.path, end, "the seek table does not match the frames")
        return trailer.last

    def _unsealed(self, segment: Segment, file: BinaryIO, following: int | None, reach: _Reach) -> None:
        """What its headers prove to have been durable; at rest also what nobody acknowledged."""
        mark = anchors.load(self.path)
        if mark is None:
            return
        due = mark.last if following is None else min(mark.last, following - 1)
        size = file.seek(0, os.SEEK_END)
        offset = end = 0
        last, in_order = segment.first - 1, True
        while True:
            try:
                for header in walk_headers(file, offset):
                    if header.stream == mark.stream:
                        reach.proven = max(reach.proven, header.synced)
                    in_order = in_order and header.last <= due
                    if in_order:
                        last, end = header.last, header.end
                break
            except NotAUnit as stop:
                in_order = False
                later = find_header(file, stop.offset + 1)
                if later is None:
                    break
                offset = later.offset
        if last >= due and end < size and not self.stream.live:
            cause = f"{size - end} bytes above the anchor were never acknowledged; the next writer copies them to torn/"
            reach.tails.append((segment.path, end, cause))

    def _manifest(self) -> None:
        written, found = self._manifests()
        self.stream.chain = written.head
        path = self.path / manifest.NAME
        for spans in (written.spans, found.spans):
            broken = manifest.chain_break(spans)
            if broken is not None:
                self.problem(path, 0, f"the chain breaks at events {broken.first} to {broken.last}")
                return
        if written == found:
            return
        if not path.exists():
            self._without_manifest(path, found)
            return
        # A crash between the rename of a sealed segment and the manifest leaves the manifest behind; the next
        # seal brings it up. Anything else is tampering or loss.
        count = len(written.spans)
        behind = found.spans[:count] == written.spans
        if behind and (len(found.spans) > count or len(found.segments) < len(written.segments)):
            self.problem(path, 0, "it lacks what was sealed or merged last; the next seal brings it up", NOTE)
        else:
            self.problem(path, 0, "the manifest names other sealed segments than there are")

    def _manifests(self) -> tuple[Manifest, Manifest]:
        """The manifest and what is on disk, at a moment when no seal stood between the two. Raises DamageError."""
        before = None
        while True:
            now = manifest.load(self.path), manifest.of_directory(self.path)
            if now[0] == now[1] or now == before:
                return now
            before = now

    def _without_manifest(self, path: Path, found: Manifest) -> None:
        """Only a stream's very first seal can have been killed before there was a manifest."""
        mark = anchors.load(self.path)
        first_seal = len(found.segments) == 1 and mark is not None and mark.state == anchors.OPEN
        if first_seal or is_held(self.path / LOCK):
            self.problem(path, 0, "there is none yet: a seal is under way or was cut short", NOTE)
        else:
            self.problem(path, 0, f"the manifest is missing, and events up to {found.last} are sealed")
