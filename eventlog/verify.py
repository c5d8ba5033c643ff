"""Whether a store is sound: every frame, link, seq, span digest, manifest, anchor slot and blob.

Verification reads everything and changes nothing. It never stops at the first problem.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eventlog import anchor as anchors
from eventlog import manifest
from eventlog.blobs import BlobNotFound
from eventlog.envelope import Event, decode_lines, event_blobs
from eventlog.errors import DamageError, LogError
from eventlog.frames import NotAUnit, SeekTable, content_of, is_trailer, read_trailer, walk
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.reader import read_content
from eventlog.segments import Segment, is_sealed, list_segments, trailer_of, visible_segments
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
    checked_blobs: set[str] = set()
    for name in streams if streams is not None else store.streams():
        path = store.existing_stream(name)
        _Check(store, name, path, report, checked_blobs).run()
    return report


class _Check:
    """Checks one stream."""

    def __init__(self, store: Store, name: str, path: Path, report: VerifyReport, blobs: set[str]) -> None:
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

    def run(self) -> None:
        """All checks, in an order that names the most basic fault first."""
        self._anchor()
        self._events()
        for segment in self._segments():
            try:
                if is_sealed(segment):
                    self._sealed(segment)
                elif not self.stream.live:
                    self._tail(segment)
            except DamageError as error:
                self.damage(error)
        self._manifest()

    def _segments(self) -> list[Segment]:
        try:
            segments = visible_segments(self.path)
        except DamageError as error:
            self.damage(error)
            segments = list_segments(self.path)
        self.stream.segments = len(segments)
        return segments

    def _anchor(self) -> None:
        path = self.path / anchors.NAME
        try:
            slots = anchors.slots(self.path)
        except LogError as error:
            self.problem(path, 0, str(error))
            return
        if all(slot is None for slot in slots):
            cause = "the anchor cannot be read" if path.exists() else "the anchor is missing"
            self.problem(path, 0, cause)
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
            if b"sha256:" in content.lines or b'"artifact.stored"' in content.lines:
                self._blobs(events)

    def _blobs(self, events: list[Event]) -> None:
        for event in events:
            for digest in event_blobs(event) - self.blobs:
                self.blobs.add(digest)
                self.stream.blobs += 1
                try:
                    self.store.blobs.check(digest)
                except BlobNotFound as error:
                    self.problem(self.store.blobs.root, 0, f"event {event.seq}: {error}")
                except DamageError as error:
                    self.damage(error)

    def _sealed(self, segment: Segment) -> None:
        """Span digests over the uncompressed bytes, and the seek table byte for byte."""
        table = SeekTable()
        trailer = trailer_of(segment)
        pending = list(trailer.spans)
        running = hashlib.sha256()
        with segment.path.open("rb") as file:
            offset, left = 0, pending[0].bytes
            try:
                for unit in walk(file):
                    header = unit.header
                    table.add_unit(header.size, header.content_len, unit.frame)
                    content, offset = content_of(unit), header.end
                    while content and pending:
                        part, content = content[:left], content[left:]
                        running.update(part)
                        left -= len(part)
                        if left == 0:
                            if running.hexdigest() != pending[0].sha256:
                                cause = f"events {pending[0].first} to {pending[0].last} do not match their digest"
                                self.problem(segment.path, header.offset, cause)
                            pending.pop(0)
                            running, left = hashlib.sha256(), pending[0].bytes if pending else 0
            except NotAUnit as stop:
                self.problem(segment.path, stop.offset, stop.cause)
                return
            if pending or not is_trailer(file, offset):
                self.problem(segment.path, offset, "the sealed segment ends before its trailer says")
                return
            _, end = read_trailer(segment.path, file, offset)
            table.add_skippable(end - offset)
            file.seek(end)
            if file.read() != table.pack():
                self.problem(segment.path, end, "the seek table does not match the frames")

    def _tail(self, segment: Segment) -> None:
        """Bytes above the anchor in a segment that nobody writes: torn, or never acknowledged."""
        mark = anchors.load(self.path)
        last = mark.last if mark else 0
        with segment.path.open("rb") as file:
            size, end = file.seek(0, os.SEEK_END), 0
            try:
                for unit in walk(file):
                    if unit.header.last > last:
                        break
                    end = unit.header.end
            except NotAUnit as stop:
                if stop.offset != end:
                    self.problem(segment.path, stop.offset, stop.cause)
        if end < size:
            cause = f"{size - end} bytes above the anchor were never acknowledged; the next writer copies them to torn/"
            self.problem(segment.path, end, cause, NOTE)

    def _manifest(self) -> None:
        path = self.path / manifest.NAME
        try:
            written, found = manifest.load(self.path), manifest.of_directory(self.path)
        except DamageError as error:
            self.damage(error)
            return
        self.stream.chain = written.head
        value = manifest.CHAIN_START
        for span in (s for segment in written.segments for s in segment.spans):
            value = manifest.chain(value, span.sha256)
            if value != span.chain:
                self.problem(path, 0, f"the chain breaks at events {span.first} to {span.last}")
                return
        if written == found:
            return
        # A crash between the rename of a sealed segment and the manifest leaves the manifest behind; the next
        # seal brings it up. Anything else is tampering or loss.
        spans = [s for segment in written.segments for s in segment.spans]
        on_disk = [s for segment in found.segments for s in segment.spans]
        behind = on_disk[: len(spans)] == spans
        cause = "the manifest lacks segments that were sealed later" if behind else (
            "the manifest names other sealed segments than there are"
        )  # fmt: skip
        self.problem(path, 0, cause, NOTE if behind and len(on_disk) > len(spans) else ERROR)


def chain_head(store: Store, name: str) -> str | None:
    """The digest that stands for everything sealed of a stream; None when nothing is sealed yet."""
    segments = [s for s in visible_segments(store.existing_stream(name)) if is_sealed(s)]
    return trailer_of(segments[-1]).spans[-1].chain if segments else None
