"""Reading one segment: its frames in order, each checked against the seq, the stream and the link it must have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from eventlog import anchor as anchors
from eventlog.errors import DamageError
from eventlog.frames import (
    SEALED,
    Header,
    NotAUnit,
    Unit,
    content_of,
    events_at,
    find_header,
    is_trailer,
    read_header,
    read_unit,
)
from eventlog.segments import Segment, refuse_newer, trailer_in

OnDamage = Callable[[DamageError], None]


class Content(NamedTuple):
    """Consecutive events as NDJSON bytes: `events` lines from seq `first`, of the frame at `offset` of `path`."""

    first: int
    events: int
    lines: bytes
    path: Path
    offset: int


def damaged(error: DamageError, on_damage: OnDamage | None) -> None:
    """Report the damage and go on, or raise it where nobody wants to pass over it."""
    if on_damage is None:
        raise error
    on_damage(error)


def _is_unit(file: BinaryIO, offset: int) -> bool:
    try:
        read_header(file, offset)
    except (NotAUnit, EOFError):
        return False
    return True


class SegmentReading:
    """Reads one segment's contents from `position` to `end`, checking dense seq, stream and links."""

    def __init__(
        self, segment: Segment, mark: anchors.Mark | None, end: int, position: int, link: bytes | None
    ) -> None:
        self.segment = segment
        self.mark = mark
        self.end = end
        self.hopping = True
        self.position = position
        self.link = link
        self.sealed = False
        self.offset = 0

    def contents(self, on_damage: OnDamage | None) -> Iterator[Content]:
        """Contents in order; see `read_content`."""
        try:
            yield from self._contents(on_damage)
        except FileNotFoundError:
            raise
        except OSError as error:
            cause = f"it cannot be read: {error.strerror or error}"
            damaged(DamageError(self.segment.path, self.offset, cause), on_damage)
            self.link = None

    def _contents(self, on_damage: OnDamage | None) -> Iterator[Content]:
        with self.segment.path.open("rb") as file:
            offset = 0
            while True:
                try:
                    unit = self._next(file, offset)
                    if unit is None:
                        break
                    content = self._content(unit)
                    header = unit.header
                    self.link, self.hopping = unit.link, False
                    self.sealed = bool(header.flags & SEALED)
                    self.position = header.last + 1
                    self.offset = offset = header.end
                    yield content
                except NotAUnit as stop:
                    refuse_newer(self.segment.path, file, stop.offset)
                    held = "" if stop.sound is not None else events_at(file, stop.offset)
                    damaged(DamageError(self.segment.path, stop.offset, stop.cause + held), on_damage)
                    later = stop.sound or find_header(file, stop.offset + 1)
                    if later is None:
                        break
                    offset, self.link, self.hopping = later.offset, None, True
                    if stop.sound is not None and not self._wanted(later):
                        offset = later.end
                    else:
                        self.position = max(self.position, later.first)
            if self.position <= self.end:
                missing = f"events {self.position} to {self.end} were acknowledged and are missing"
                damaged(DamageError(self.segment.path, offset, missing), on_damage)
            try:
                self._end_link(file, offset)
            except DamageError as error:
                damaged(error, on_damage)

    def _end_link(self, file: BinaryIO, offset: int) -> None:
        """The link that the next segment, or the anchor, must name. Raises DamageError."""
        if offset and is_trailer(file, offset):
            link, self.link = self.link, None  # the last sealed frame's link says nothing about what follows
            trailer = trailer_in(self.segment, file).trailer  # of this file: another may have its name by now
            self.link = bytes.fromhex(trailer.spans[-1].end_link)
            if link is not None and link.hex() != trailer.link:
                raise DamageError(
                    self.segment.path, offset, "the last frame is not the one that the trailer names"
                )
        elif self.sealed and not _is_unit(file, offset):
            raise DamageError(
                self.segment.path, offset, "the trailer of the sealed segment should stand here"
            )
        named = self.mark is not None and self.position == self.mark.last + 1
        if self.mark is not None and named and self.link not in (None, self.mark.link):
            cause = f"event {self.mark.last} is not the one that the anchor names"
            raise DamageError(self.segment.path, offset, cause)

    def _next(self, file: BinaryIO, offset: int) -> Unit | None:
        """The next unit that holds `position` or later, or None at the end; headers before it are hopped over."""
        if self.position > self.end:
            return None
        try:
            header = read_header(file, offset)
            while self.hopping and header.last < self.position:
                self.link = None
                header = read_header(file, header.end)
            unit = read_unit(file, header.offset)
        except EOFError:
            return None
        except NotAUnit as stop:
            if is_trailer(file, stop.offset):
                return None
            raise
        self._check(header)
        return unit

    def _check(self, header: Header) -> None:
        inside = header.first <= self.position <= header.last
        cause = ""
        if self.mark is not None and header.stream != self.mark.stream:
            cause = "this frame belongs to another stream"
        elif not inside or (self.link is not None and header.prev != self.link):
            cause = f"event {self.position} should stand here"
        if cause:
            raise NotAUnit(header.offset, cause, short=False, sound=header)

    def _wanted(self, header: Header) -> bool:
        """Whether a sound frame in the wrong place still brings events of this stream that are missing."""
        ours = self.mark is None or header.stream == self.mark.stream
        return ours and header.last >= self.position

    def _content(self, unit: Unit) -> Content:
        """A frame's content without the events before `position`. Raises NotAUnit."""
        header, lines = unit.header, content_of(unit)
        passed = self.position - header.first
        if passed <= 0:
            return Content(header.first, header.events, lines, self.segment.path, header.offset)
        rest = lines.split(b"\n", passed)[passed]
        return Content(self.position, header.events - passed, rest, self.segment.path, header.offset)
