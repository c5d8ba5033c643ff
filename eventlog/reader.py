"""Reading a stream: whole, from a seq, or filtered; memory does not grow with its length.

What a reader shows is durable: events up to the anchor's mark. Anything wrong below the mark raises
DamageError, naming file and offset, unless damage is explicitly allowed; then the undamaged rest is
read and what was passed over is reported.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import orjson

from eventlog import anchor as anchors
from eventlog.envelope import Event, decode_lines
from eventlog.errors import BadFilter, DamageError
from eventlog.escape import Blob, unescape
from eventlog.frames import (
    Header,
    NotAUnit,
    Unit,
    content_of,
    find_header,
    is_trailer,
    read_header,
    read_unit,
)
from eventlog.lock import NAME as LOCK
from eventlog.lock import holder, is_held
from eventlog.schemas.base import UPCASTS, upcast
from eventlog.segments import Segment, is_sealed, list_segments, trailer_in, visible_segments
from eventlog.store import Store

OnDamage = Callable[[DamageError], None]


class Content(NamedTuple):
    """Consecutive events as NDJSON bytes: `events` lines from seq `first`."""

    first: int
    events: int
    lines: bytes


@dataclass(frozen=True, slots=True)
class StreamState:
    """What is known of a stream without reading its events. `bytes` are on disk."""

    stream: str
    last_seq: int
    finished: bool
    live: bool
    writer: int | None
    segments: int
    sealed: int
    bytes: int


def stream_state(store: Store, name: str) -> StreamState:
    """State of a stream now. Raises StreamNotFound."""
    path = store.existing_stream(name)
    while True:
        try:
            return _state(path)
        except FileNotFoundError:
            continue  # sealed while we looked: look again


def _state(path: Path) -> StreamState:
    mark = anchors.load(path)
    segments = visible_segments(path)
    return StreamState(
        stream=path.name,
        last_seq=mark.last if mark else _last_by_frames(path),
        finished=bool(mark and mark.state == anchors.FINISHED),
        live=is_held(path / LOCK),
        writer=holder(path / LOCK),
        segments=len(segments),
        sealed=sum(is_sealed(s) for s in segments),
        bytes=sum(s.size for s in segments),
    )


def read_content(
    store: Store, name: str, *, start: int = 1, stop: int | None = None, on_damage: OnDamage | None = None
) -> Iterator[Content]:
    """Frames' contents from the one that holds `start`, up to `stop` (inclusive) or the durable mark.

    With `on_damage`, damage is reported there and passed over; without, DamageError is raised. The last
    content may hold events after `stop`.
    """
    path = store.existing_stream(name)
    mark = anchors.load(path)
    if mark is None and list_segments(path):
        _damaged(anchor_lost(path), on_damage)
    last = mark.last if mark is not None else _last_by_frames(path)
    if stop is not None:
        last = min(last, stop)
    position = max(1, start)
    link: bytes | None = None
    while position <= last:
        try:
            segment, following = _segment_of(path, position, on_damage)
            if segment is None:
                _damaged(DamageError(path, 0, f"events {position} to {last} are missing"), on_damage)
                return
            if segment.first != position:
                # Merged under us, or after a gap: the first frame here names a link that we have not seen.
                position, link = max(position, segment.first), None
            end = min(last, following - 1 if following else last)
            reading = _SegmentReading(segment, mark, end, position, link)
            for content in reading.contents(on_damage):
                yield content
                position = content.first + content.events
        except FileNotFoundError:
            continue  # sealed under us: the same events stand in another file now
        link = reading.link
        position = max(position, reading.end + 1)


def anchor_lost(path: Path) -> DamageError:
    """What is wrong with a stream that has segments and no anchor: nobody knows where its end is."""
    cause = "the anchor is missing or unreadable, so the end is in doubt; `hemra log seal` rebuilds it"
    return DamageError(path / anchors.NAME, 0, cause)


def _segment_of(path: Path, position: int, on_damage: OnDamage | None) -> tuple[Segment | None, int | None]:
    """The segment that should hold `position`, and the first seq of the one after it."""
    try:
        segments = visible_segments(path)
    except DamageError as error:
        _damaged(error, on_damage)

        segments = list_segments(path)
    holding = [s for s in segments if s.first <= position]
    after = [s.first for s in segments if s.first > position]
    if not holding:
        if not after:
            return None, None
        first = after[0]
        _damaged(DamageError(path, 0, f"events {position} to {first - 1} are missing"), on_damage)
        return next(s for s in segments if s.first == first), after[1] if len(after) > 1 else None
    return holding[-1], after[0] if after else None


def _from(position: int, header: Header, lines: bytes) -> Content:
    """A frame's content without the events before `position`."""
    passed = position - header.first
    if passed <= 0:
        return Content(header.first, header.events, lines)
    return Content(position, header.events - passed, lines.split(b"\n", passed)[passed])


def _damaged(error: DamageError, on_damage: OnDamage | None) -> None:
    if on_damage is None:
        raise error
    on_damage(error)


class _SegmentReading:
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

    def contents(self, on_damage: OnDamage | None) -> Iterator[Content]:
        """Contents in order; see `read_content`."""
        with self.segment.path.open("rb") as file:
            offset = 0
            while True:
                try:
                    unit = self._next(file, offset)
                    if unit is None:
                        break
                    content = _from(self.position, unit.header, content_of(unit))
                    header = unit.header
                    self.link, self.hopping = unit.link, False
                    self.position = header.last + 1
                    offset = header.end
                    yield content
                except NotAUnit as stop:
                    _damaged(DamageError(self.segment.path, stop.offset, stop.cause), on_damage)
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
                _damaged(DamageError(self.segment.path, offset, missing), on_damage)
            try:
                self._end_link(file, offset)
            except DamageError as error:
                _damaged(error, on_damage)

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


def _last_by_frames(path: Path) -> int:
    """Last seq of a stream whose anchor is lost: as far as whole units go."""

    last = 0
    for segment in list_segments(path):
        with segment.path.open("rb") as file:
            offset = 0
            try:
                while True:
                    header = read_header(file, offset)
                    last, offset = max(last, header.last), header.end
            except (NotAUnit, EOFError):
                continue
    return last


def read_lines(
    store: Store, name: str, *, start: int = 1, stop: int | None = None, on_damage: OnDamage | None = None
) -> Iterator[bytes]:
    """Every event's line exactly as stored, without its newline, from seq `start` to `stop`."""
    for content in read_content(store, name, start=start, stop=stop, on_damage=on_damage):
        lines = content.lines.split(b"\n")
        yield from lines[: content.events if stop is None else min(content.events, stop - content.first + 1)]


@dataclass(frozen=True)
class Filter:
    """Which events are wanted. `since`/`until` are fixed-width RFC 3339 texts (see clock.parse_rfc3339)."""

    types: Sequence[str] = ()
    trials: Sequence[str] = ()
    since: str | None = None
    until: str | None = None

    def compiled(self) -> Callable[[Event], bool] | None:
        """A test for one event, or None when everything is wanted. Raises BadFilter for a bad time."""
        for moment in (self.since, self.until):
            if moment is not None and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", moment):
                raise BadFilter(f"{moment!r} is not a time of the form 2026-11-30T19:38:06.000000000Z")
        tests: list[Callable[[Event], bool]] = []
        if self.types:
            pattern = re.compile("|".join(fnmatch.translate(glob) for glob in self.types))
            tests.append(lambda e: pattern.match(e.type) is not None)
        if self.trials:
            wanted = frozenset(self.trials)
            tests.append(lambda e: e.trial in wanted)
        if self.since is not None:
            since = self.since
            tests.append(lambda e: e.time >= since)
        if self.until is not None:
            until = self.until
            tests.append(lambda e: e.time <= until)
        if not tests:
            return None
        return lambda e: all(test(e) for test in tests)


def read(
    store: Store,
    name: str,
    *,
    start: int = 1,
    stop: int | None = None,
    types: Sequence[str] = (),
    trials: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    on_damage: OnDamage | None = None,
) -> Iterator[Event]:
    """Events in order, from seq `start` to `stop` (both inclusive), that pass all filters given.

    `types` are globs (`trial.*`), `trials` are trial ids, `since`/`until` fixed-width UTC times. Old
    versions of events are brought to the newest. Raises StreamNotFound, DamageError, BadFilter.
    """
    wanted = Filter(types, trials, since, until).compiled()
    for content in read_content(store, name, start=start, stop=stop, on_damage=on_damage):
        try:
            events = decode_lines(content.lines)
        except msgspec.MsgspecError as error:
            damage = DamageError(
                store.stream_path(name), 0, f"events from {content.first} do not decode: {error}"
            )
            _damaged(damage, on_damage)
            continue
        if stop is not None and content.first + content.events - 1 > stop:
            events = [e for e in events if e.seq <= stop]
        if UPCASTS:
            events = [_upcast(e) for e in events]
        if wanted is None:
            yield from events
        else:
            yield from filter(wanted, events)


def _upcast(event: Event) -> Event:
    if (event.type, event.v) not in UPCASTS:
        return event
    v, data = upcast(event.type, event.v, event.data)
    return msgspec.structs.replace(event, v=v, data=data)


def resolve(store: Store, value: Any) -> Any:
    """`value` (of an event that was read) with every `Blob` replaced by its content (text, bytes or JSON), recursively.

    Raises BlobNotFound or DamageError.
    """
    if isinstance(value, list):
        return [resolve(store, item) for item in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value, Blob):
        return {key: resolve(store, item) for key, item in value.items()}
    content = store.blobs.get(value["$blob"])
    if value.get("kind") == "text":
        return content.decode("utf-8", "surrogatepass")
    if value.get("kind") == "json":
        return resolve(store, unescape(orjson.loads(content)))
    return content
