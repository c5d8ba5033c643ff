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
from eventlog.envelope import MAX_EVENT, Event, decode_lines
from eventlog.errors import BadEvent, DamageError, LogError
from eventlog.frames import (
    NotAUnit,
    SeekTable,
    content_of,
    events_at,
    find_header,
    read_unit,
    walk,
    walk_headers,
)
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.mirror import note
from eventlog.mirror.note import BadNote, is_copy
from eventlog.payloads import Need, may_need, needs, needs_of_payload
from eventlog.reader import anchor_lost, read_content
from eventlog.repaired import given_up, in_words
from eventlog.schemas.base import newest
from eventlog.schemas.repairs import StreamRepaired
from eventlog.segments import (
    Segment,
    list_segments,
    name_of,
    sealed_in,
    settled,
    trailer_in,
    visible_segments,
)
from eventlog.spans import SpanDigests
from eventlog.standing import standing
from eventlog.store import Store
from eventlog.verify_manifest import check_manifest
from eventlog.verify_report import ERROR, INFO, NOTE, Problem, StreamReport, VerifyReport


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
    #: The last event of the segments so far.
    last: int = 0
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
        #: Payloads that are not there (digest, place, cause), and those that a repaired copy has given up.
        self.missing: list[tuple[str, Path, str]] = []
        self.given_up: set[str] = set()
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
        for check in (self._anchor, self._note, self._lag, self._events, self._segments, self._manifest):
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

    def _note(self) -> None:
        try:
            note.load(self.path)
        except BadNote as error:
            self.problem(self.path / note.NAME, 0, str(error))

    def _standing(self) -> anchors.Mark | None:
        """How far the stream goes; what of that cannot be read is a problem, and hides no other."""
        try:
            return standing(self.path)
        except DamageError as error:
            self.damage(error)
            return None

    def _lag(self) -> None:
        """An anchor that a power cut left behind is no fault: what follows it whole is kept."""
        mark, further = anchors.load(self.path), self._standing()
        if mark is not None and further is not None and further.last > mark.last and not self.stream.live:
            cause = f"it stands at event {mark.last}, whole frames go on to {further.last}: the next writer keeps them"
            self.problem(self.path / anchors.NAME, 0, cause, NOTE)

    def _events(self) -> None:
        for content in read_content(self.store, self.stream.stream, on_damage=self.damage):
            place = content.path, content.offset
            try:
                events = decode_lines(content.lines)
            except Exception as error:  # noqa: BLE001 - whatever the decoder says of bytes that are no events
                self.problem(*place, f"events from {content.first} do not decode: {error}")
                continue
            if [e.seq for e in events] != list(range(content.first, content.first + content.events)):
                self.problem(*place, f"seq is not dense from {content.first}")
            if (
                len(content.lines) > MAX_EVENT
                and (longest := max(map(len, content.lines.split(b"\n")))) > MAX_EVENT
            ):
                self.problem(*place, f"a line has {longest} bytes; {MAX_EVENT} are possible")
            self.stream.events += len(events)
            self.stream.bytes += len(content.lines)
            if may_need(content.lines):
                for event in events:
                    self._blobs(event, place)
            self._words(events, place)
        for digest, blob, cause in self.missing:
            self.problem(blob, 0, cause, INFO if digest in self.given_up else ERROR)

    def _words(self, events: list[Event], place: tuple[Path, int]) -> None:
        """What events say of the stream itself: that it is a repaired copy, or of a later hemra."""
        for kind, v in {(e.type, e.v) for e in events}:
            if v > newest(kind, v):
                self.problem(self.path, 0, f"it holds {kind} events of version {v}: upgrade hemra", INFO)
            if kind == StreamRepaired.type:
                for event in (e for e in events if e.type == kind):
                    self.problem(*place, in_words(event), INFO)
                    self.given_up.update(given_up(self.store, event))

    def _blobs(self, event: Event, place: tuple[Path, int]) -> None:
        try:
            pending = needs(event)
        except BadEvent as error:
            self.problem(*place, str(error))
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
            except BlobNotFound as error:
                self.missing.append((need.digest, self.store.blobs.root, f"event {event.seq}: {error}"))
            except BadEvent as error:
                self.problem(self.store.blobs.root, 0, f"event {event.seq}: {error}")
            except DamageError as error:
                self.damage(error)

    def _segments(self) -> None:
        """Each segment, and whether any of them goes further than the anchor may stand."""
        reach = settled(self.path, self._each_segment)
        mark = self._standing()
        if mark is None:
            return
        if max(reach.sealed, reach.proven) <= mark.last:
            for tail in reach.tails:
                self.problem(*tail, NOTE)
            return
        if is_copy(self.path):
            # Of a copy nothing was promised here: what stands above its anchor is of a pull that was cut short.
            cause = f"a pull was cut short at event {mark.last}: the next one goes on there"
            self.problem(self.path / anchors.NAME, 0, cause, NOTE)
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
        if mark.state == anchors.OPEN and mark.segment and reach.sealed <= mark.last:
            place = self.path / name_of(mark.segment)
            self.problem(place, mark.offset, f"{_why_not_a_frame(place, mark.offset)}: {lost}")
            return
        self.problem(path, 0, f"it is older than the stream: {lost}, and it stands at {mark.last}")

    def _each_segment(self) -> _Reach:
        try:
            segments = visible_segments(self.path)
        except DamageError as error:
            self.damage(error)
            segments = list_segments(self.path)
        self.stream.segments = len(segments)
        mark, reach = self._standing(), _Reach()
        durable = mark.last if mark is not None else 0
        for index, segment in enumerate(segments):
            following = segments[index + 1].first if index + 1 < len(segments) else None
            if segment.first > max(reach.last, durable) + 1:  # below the mark, reading has found the gap
                cause = f"it begins at event {segment.first}, and the segments before it end at event {reach.last}"
                self.problem(segment.path, 0, cause)
            with segment.path.open("rb") as file:
                try:
                    if sealed_in(file):
                        reach.sealed = reach.last = max(reach.sealed, self._sealed(segment, file))
                    else:
                        self._unsealed(segment, file, following, mark, reach)
                except DamageError as error:
                    self.damage(error)
                except OSError as error:
                    self._lost(segment, following, error, reach)
        return reach

    def _lost(self, segment: Segment, following: int | None, error: OSError, reach: _Reach) -> None:
        """A segment that cannot be read: what stood in it went on to the next one."""
        self.problem(segment.path, 0, f"it cannot be read: {error.strerror or error}")
        if following is not None:
            reach.last = max(reach.last, following - 1)

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
            self.problem(segment.path, stop.offset, stop.cause + events_at(file, stop.offset))
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

    def _unsealed(
        self,
        segment: Segment,
        file: BinaryIO,
        following: int | None,
        mark: anchors.Mark | None,
        reach: _Reach,
    ) -> None:
        """What its headers prove to have been durable; at rest also what nobody acknowledged."""
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
                    reach.last = max(reach.last, header.last)
                    in_order = in_order and header.first == last + 1 and header.last <= due
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
        verdict = check_manifest(self.path)
        self.stream.chain = verdict.chain
        if verdict.cause is not None:
            # A pull that was cut short may stand between files that were sealed on their own here and there.
            harmless = verdict.harmless or is_copy(self.path)
            self.problem(self.path / manifest.NAME, 0, verdict.cause, NOTE if harmless else ERROR)


def _why_not_a_frame(path: Path, offset: int) -> str:
    with path.open("rb") as file:
        try:
            content_of(read_unit(file, offset))
        except NotAUnit as stop:
            return stop.cause
        except EOFError:
            return "the file ends here"
    return "this frame does not follow the one before it"
