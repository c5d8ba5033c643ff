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
from typing import Any

import msgspec
import orjson

from eventlog import anchor as anchors
from eventlog.envelope import Event, decode_lines
from eventlog.errors import BadFilter, DamageError, StoreError
from eventlog.escape import Blob, unescape
from eventlog.frames import NotAUnit, content_of, proven_behind, read_header, walk
from eventlog.lock import NAME as LOCK
from eventlog.lock import holder, is_held
from eventlog.mirror.note import copied_from
from eventlog.schemas.base import UPCASTS, newest, upcast
from eventlog.segment_reading import Content, OnDamage, SegmentReading, damaged
from eventlog.segments import Segment, is_sealed, list_segments, visible_segments
from eventlog.standing import standing
from eventlog.store import Store

__all__ = [
    "Content", "Filter", "OnDamage", "StreamState", "anchor_lost", "read", "read_content", "read_lines",
    "resolve", "stream_state",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamState:
    """What is known of a stream without reading its events. `bytes` are on disk.

    `copy_of` is where the rest of an unfinished copy is to be had from; null for a stream of this store's own.
    """

    stream: str
    last_seq: int
    finished: bool
    live: bool
    writer: int | None
    segments: int
    sealed: int
    bytes: int
    copy_of: str | None = None


def stream_state(store: Store, name: str) -> StreamState:
    """State of a stream now. Raises StreamNotFound."""
    path = store.existing_stream(name)
    while True:
        try:
            return _state(path)
        except FileNotFoundError:
            continue  # sealed while we looked: look again


def _state(path: Path) -> StreamState:
    mark = standing(path)
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
        copy_of=copied_from(path),
    )


def read_content(
    store: Store, name: str, *, start: int = 1, stop: int | None = None, on_damage: OnDamage | None = None
) -> Iterator[Content]:
    """Frames' contents from the one that holds `start`, up to `stop` (inclusive) or the durable mark.

    With `on_damage`, damage is reported there and passed over; without, DamageError is raised. The last
    content may hold events after `stop`.
    """
    path = store.existing_stream(name)
    mark, last = _end(path, on_damage)
    if stop is not None:
        last = min(last, stop)
    position = max(1, start)
    link: bytes | None = None
    while position <= last:
        try:
            segment, following = _segment_of(path, position, on_damage)
            if segment is None:
                damaged(DamageError(path, 0, f"events {position} to {last} are missing"), on_damage)
                return
            if segment.first != position:
                # Merged under us, or after a gap: the first frame here names a link that we have not seen.
                position, link = max(position, segment.first), None
            end = min(last, following - 1 if following else last)
            reading = SegmentReading(segment, mark, end, position, link)
            for content in reading.contents(on_damage):
                yield content
                position = content.first + content.events
        except FileNotFoundError:
            continue  # sealed under us: the same events stand in another file now
        link = reading.link
        position = max(position, reading.end + 1)


def _end(path: Path, on_damage: OnDamage | None) -> tuple[anchors.Mark | None, int]:
    """The newest valid mark, and the seq up to which a reader reads."""
    try:
        mark, slots = standing(path), anchors.slots(path)
    except DamageError as error:
        damaged(error, on_damage)
        return _end_below(path)
    if mark is None:
        if list_segments(path):
            damaged(anchor_lost(path), on_damage)
        return None, _last_by_frames(path)
    # A live writer may be in the middle of a slot, and a power cut may tear one: the live segment then says how far
    # the stream goes. Elsewhere a bad slot at rest may have been the newer one: no harm where nothing stands above.
    at_rest = None in slots and not _goes_on(path, mark) and not is_held(path / LOCK)
    if at_rest and (by_frames := _last_whole(path, mark.stream)) > mark.last:
        cause = (
            f"a slot is damaged, and whether events {mark.last + 1} to {by_frames} were acknowledged is in doubt; "
            "`hemra log seal` keeps them"
        )
        damaged(DamageError(path / anchors.NAME, 512 * slots.index(None), cause), on_damage)
        return mark, by_frames
    return mark, mark.last


def _end_below(path: Path) -> tuple[anchors.Mark | None, int]:
    """As `_end`, where the disk cannot read the anchor or what stands behind its mark."""
    try:
        mark = anchors.load(path)
    except DamageError:
        mark = None
    return mark, mark.last if mark is not None else _last_by_frames(path)


def _goes_on(path: Path, mark: anchors.Mark) -> bool:
    """Whether the mark names the last segment, and that is live: `standing` has read on from the mark there."""
    for last in list_segments(path)[-1:]:
        return mark.state == anchors.OPEN and last.first == mark.segment and not is_sealed(last)
    return False


def anchor_lost(path: Path) -> DamageError:
    """What is wrong with a stream that has segments and no anchor: nobody knows where its end is."""
    cause = "the anchor is missing or unreadable, so the end is in doubt; `hemra log seal` rebuilds it"
    return DamageError(path / anchors.NAME, 0, cause)


def _segment_of(path: Path, position: int, on_damage: OnDamage | None) -> tuple[Segment | None, int | None]:
    """The segment that should hold `position`, and the first seq of the one after it."""
    try:
        segments = visible_segments(path)
    except DamageError as error:
        damaged(error, on_damage)
        segments = list_segments(path)
    holding = [s for s in segments if s.first <= position]
    after = [s.first for s in segments if s.first > position]
    if not holding:
        if not after:
            return None, None
        first = after[0]
        damaged(DamageError(path, 0, f"events {position} to {first - 1} are missing"), on_damage)
        return next(s for s in segments if s.first == first), after[1] if len(after) > 1 else None
    return holding[-1], after[0] if after else None


def _last_whole(path: Path, stream: bytes) -> int:
    """Last seq of what the next writer keeps: it cuts off a torn write at the very end, which nobody acknowledged."""
    for segment in reversed(list_segments(path)):
        last = 0
        with segment.path.open("rb") as file:
            try:
                for unit in walk(file):
                    content_of(unit)
                    last = unit.header.last
            except NotAUnit as stop:
                last = max(last, proven_behind(file, stop.offset + 1, stream))
            except OSError:
                last = max(last, segment.first)  # as in `_last_by_frames`
        if last:
            return last
    return 0


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
            except OSError:
                # Its name alone says that it is to be read: there it is named as damaged.
                last = max(last, segment.first)
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
    versions of events are brought to the newest. Raises StreamNotFound, DamageError, BadFilter, and StoreError
    for an event of a version that a later hemra wrote.
    """
    wanted = Filter(types, trials, since, until).compiled()
    labels = tuple(b'"trial":' + orjson.dumps(trial) for trial in trials)
    for content in read_content(store, name, start=start, stop=stop, on_damage=on_damage):
        try:
            events = decode_lines(_of_trials(content.lines, labels) if labels else content.lines)
        except msgspec.MsgspecError as error:
            cause = f"events from {content.first} do not decode: {error}"
            damaged(DamageError(content.path, content.offset, cause), on_damage)
            continue
        if stop is not None and content.first + content.events - 1 > stop:
            events = [e for e in events if e.seq <= stop]
        if UPCASTS:
            events = [_upcast(e) for e in events]
        if wanted is not None:
            events = [e for e in events if wanted(e)]
        refuse_newer_events(name, events)
        yield from events


def _of_trials(lines: bytes, labels: tuple[bytes, ...]) -> bytes:
    """The lines that may be of the trials: nearly all others are told without decoding them."""
    kept = []
    for line in lines.split(b"\n"):
        envelope = line[: line.find(b',"data":')]
        if envelope.endswith(labels) or not _ends_in_a_trial(envelope):
            kept.append(line)
    return b"\n".join(kept)


def _ends_in_a_trial(envelope: bytes) -> bool:
    """Whether the trial, or that there is none, stands last before the data, as `envelope.encode` writes it. A foreign
    producer may write it elsewhere: then the decoded event tells."""
    opening = envelope.rfind(b'"', 0, -1)
    named = envelope.endswith(b'"') and envelope.endswith(b'"trial":', 0, opening)
    return named or envelope.endswith(b'"trial":null')


def refuse_newer_events(name: str, events: Sequence[Event]) -> None:
    """Raise StoreError for an event in a version that only a later hemra knows: its fields may mean anything."""
    for kind, v in {(e.type, e.v) for e in events}:
        if v > newest(kind, v):
            text = f"{name} holds a {kind} event of version {v}; this hemra reads {newest(kind, v)}: upgrade hemra"
            raise StoreError(text)


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
    return _payload(store, value)


def _payload(store: Store, value: Blob) -> Any:
    """What a blob that was moved out of an event holds, by the kind that the event says it has."""
    content, kind = store.blobs.get(value["$blob"]), value.get("kind")
    try:
        if kind == "text":
            return content.decode("utf-8", "surrogatepass")
        if kind == "json":
            return resolve(store, unescape(orjson.loads(content)))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        cause = f"it is named as a payload of kind {kind} and does not read as one: {error}"
        raise DamageError(store.blobs.path(value["$blob"]), 0, cause) from None
    return content
