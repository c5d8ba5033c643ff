"""Following a stream: what was recorded, then what is being recorded, without a gap and without a double.

What there is, the segments say; the bus and the file watcher only say when to look again, and once a second
it is looked at anyway. So a lost wake-up costs a second and never an event.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from eventlog import anchor as anchors
from eventlog.bus import BusError, address_of
from eventlog.bus_peer import Unreachable, Waker
from eventlog.envelope import Event, decode_lines
from eventlog.frames import NotAUnit, content_of, read_header, read_unit
from eventlog.reader import Filter, anchor_lost, read, refuse_newer_events
from eventlog.schemas.base import upcast
from eventlog.segments import list_segments
from eventlog.standing import standing
from eventlog.store import Store

#: However silent the bus is, the stream is looked at this often.
POLL_S = 1.0


def follow(
    store: Store,
    stream: str,
    *,
    start: int = 1,
    types: Sequence[str] = (),
    trials: Sequence[str] = (),
    since: str | None = None,
    stop: threading.Event | None = None,
) -> Iterator[Event]:
    """Events from seq `start` on that pass the filters: what there is, then each as soon as it is durable.

    Ends when the stream is finished and all of it was given, or within 300 ms of `stop` being set. It goes
    on over a restart of the recorder, over sealing, and over a time without any writer. Filters are those
    of `reader.read`. Raises StreamNotFound, DamageError, BadFilter.
    """
    path = store.existing_stream(stream)
    wanted = Filter(types, trials, since).compiled()
    position = max(1, start)
    tail = _Tail(path)
    alarm = Alarm(store, stream, path, stop)
    try:
        while not _is_set(stop):
            # Listening begins before looking: what comes in between wakes us.
            alarm.arm()
            mark = standing(store.existing_stream(stream))
            if mark is None and list_segments(path):
                raise anchor_lost(path)
            last = mark.last if mark is not None else 0
            for event in _available(store, stream, tail, position, last):
                if _is_set(stop):
                    return
                position = event.seq + 1
                if wanted is None or wanted(event):
                    yield event
            if mark is not None and mark.state == anchors.FINISHED:
                return
            alarm.wait()
    finally:
        tail.close()
        alarm.close()


def _is_set(stop: threading.Event | None) -> bool:
    return stop is not None and stop.is_set()


def _available(store: Store, stream: str, tail: _Tail, position: int, last: int) -> Iterator[Event]:
    """Every event from `position` to `last`, by the shortest way."""
    for event in tail.events(position, last):
        yield event
        position = event.seq + 1
    if position <= last:
        yield from read(store, stream, start=position, stop=last)


class _Tail:
    """A place in the live segment, so that what is new is read without walking over what is old.

    It only ever gives what follows exactly on what it gave before; where it cannot (another segment,
    sealing, damage) it gives nothing, and the reader, which knows all cases, is asked instead.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._offset = 0
        self._link: bytes | None = None

    def events(self, position: int, last: int) -> Iterator[Event]:
        """Events from `position` to at most `last` that stand at this place."""
        if position > last:
            return
        if self._file is None and not self._find(position):
            return
        assert self._file is not None
        while position <= last:
            try:
                unit = read_unit(self._file, self._offset)
                header = unit.header
                follows = header.first == position and self._link in (None, header.prev)
                content = content_of(unit) if follows and header.last <= last else b""
            except (NotAUnit, EOFError, OSError):
                content = b""
            if not content:
                self.close()
                return
            self._offset, self._link = header.end, unit.link
            events = [_newest(event) for event in decode_lines(content)]
            refuse_newer_events(self._path.name, events)
            yield from events
            position = header.last + 1

    def _find(self, position: int) -> bool:
        """Go to the unit that begins at `position` in the newest segment."""
        segments = list_segments(self._path)
        if not segments or segments[-1].first > position:
            return False
        try:
            self._file = segments[-1].path.open("rb")
            self._offset, self._link = 0, None
            while (header := read_header(self._file, self._offset)).last < position:
                self._offset = header.end
            if header.first == position:
                return True
        except (FileNotFoundError, NotAUnit, EOFError):
            pass  # not there, or not yet: the reader finds it or says what is wrong
        self.close()
        return False

    def close(self) -> None:
        """Forget the place."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _newest(event: Event) -> Event:
    """The event with its data brought to the newest version, as `reader.read` gives it."""
    v, data = upcast(event.type, event.v, event.data)
    return event if v == event.v else msgspec.structs.replace(event, v=v, data=data)


class Alarm:
    """Waits until the stream may have grown: by the recorder's bus, else by the file system, else by time."""

    def __init__(self, store: Store, stream: str, path: Path, stop: threading.Event | None) -> None:
        self._path = path
        self._stop = stop
        self._waker: Waker | None = None
        self._changes: Any = None
        try:
            self._wakes: Path | None = address_of(store.path, stream).wakes
        except BusError:
            self._wakes = None  # whoever cannot reach the bus can still read

    def arm(self) -> None:
        """Listen to the recorder, if one is alive and we do not yet."""
        if self._waker is None and self._wakes is not None and self._wakes.exists():
            try:
                self._waker = Waker(self._wakes)
            except Unreachable:
                self._waker = None

    def wait(self) -> None:
        """Return when it is worth looking, after POLL_S at the latest."""
        if self._waker is None:
            self._watch_files()
            return
        self._stop_watching()
        try:
            self._waker.wait(POLL_S, self._stop)
        except Unreachable:
            self._waker.close()
            self._waker = None

    def _watch_files(self) -> None:
        if self._changes is None:
            from watchfiles import watch

            self._changes = watch(
                self._path, stop_event=self._stop, step=20, debounce=100, rust_timeout=int(POLL_S * 1000),
                yield_on_timeout=True, raise_interrupt=True, recursive=False, watch_filter=None,
            )  # fmt: skip
        next(self._changes, None)

    def _stop_watching(self) -> None:
        if self._changes is not None:
            self._changes.close()
            self._changes = None

    def close(self) -> None:
        """Stop listening."""
        self._stop_watching()
        if self._waker is not None:
            self._waker.close()
