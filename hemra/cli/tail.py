"""`hemra tail`: events of one run, or of every live one; history first, then what happens."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options
from hemra.cli.lazy import Command
from hemra.cli.output import note, say, write_bytes
from hemra.cli.since import parse_since
from hemra.cli.sizes import MOST
from hemra.cli.stores import check_trials, open_store, resolve_stream
from hemra.cli.waiting import waiting_told

if TYPE_CHECKING:
    from eventlog.envelope import Event
    from eventlog.store import Store

#: How often a tail of all runs looks for runs that began since. Seconds.
_LOOK_S = 0.5
#: So many events of all runs wait for a slow reader; then who reads the runs waits too.
_AHEAD = 1000
#: So many events are looked at first for the last ones; twice as many each time that they do not suffice.
_WINDOW = 1000


@dataclass(frozen=True)
class Wanted:
    """What the user asked for. `lines`: only so many of the last events of the history."""

    start: int
    since: str | None
    types: tuple[str, ...]
    trials: tuple[str, ...]
    lines: int | None
    follow: bool

    @property
    def filters(self) -> dict[str, Any]:
        """What `read` and `follow` take to choose by."""
        return {"types": self.types, "trials": self.trials, "since": self.since}


@click.command(
    cls=Command,
    examples=[
        ("hemra tail latest", "what the newest run recorded so far"),
        ("hemra tail latest -f --type 'trial.*' --type score.recorded", "follow only some types of events"),
        ("hemra tail -f", "every run that is live now or begins later"),
        ("hemra tail latest --since 10m --json | jq -c .data", "the last ten minutes, one JSON event a line"),
    ],
)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens; ends when the run is finished.")
@click.option(
    "--type", "types", multiple=True, metavar="GLOB", help="Only these event types (may be repeated)."
)
@click.option("--trial", "trials", multiple=True, metavar="T", help="Only this trial (may be repeated).")
@click.option("--since", metavar="SEQ|TIME|AGO", help="From seq 120, from a time, or from 10m ago.")
@click.option(
    "-n", "--lines", type=click.IntRange(0, MOST), metavar="N", help="Only the last N events of the history."
)
@click.option("--json", "as_json", is_flag=True, help="One event a line, exactly as in the log.")
@common_options
def tail(
    run: str | None, follow: bool, types: tuple[str, ...], trials: tuple[str, ...], since: str | None,
    lines: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Print events of one run or of all live ones.

    History comes first, then what happens.

    Without -f it ends by itself after what there is now. RUN is an id, the beginning of one, a name, or
    `latest`; without RUN all live runs are meant.
    """
    begin = parse_since(since)
    wanted = Wanted(begin.seq, begin.time, types, trials, lines, follow)
    store = open_store()
    printer = _Printer(store, as_json=as_json)
    if run is not None:
        stream = resolve_stream(store, run)
        check_trials(store, stream, trials)
        with waiting_told(store, stream) if follow else contextlib.nullcontext():
            for event in _events(store, stream, wanted, threading.Event()):
                printer.print(stream, event)
        return
    live = _live(store)
    if not live and not follow:
        note("no run is live; `hemra tail latest` shows the newest, -f waits for the next")
    printer.several = follow or len(live) > 1
    if follow:
        _follow_all(store, live, wanted, printer)
    for stream in live if not follow else ():
        for event in _events(store, stream, wanted, threading.Event()):
            printer.print(stream, event)


def _live(store: Store) -> list[str]:
    from eventlog.lock import NAME, is_held
    from eventlog.store import CATALOG

    return [name for name in store.streams() if name != CATALOG and is_held(store.stream_path(name) / NAME)]


def _events(store: Store, stream: str, wanted: Wanted, stop: threading.Event) -> Iterator[Event]:
    """History as asked for, then live events if they are wanted."""
    from eventlog.follow import follow
    from eventlog.reader import read, stream_state

    if wanted.follow and wanted.lines is None:
        yield from follow(store, stream, start=wanted.start, stop=stop, **wanted.filters)
        return
    last = stream_state(store, stream).last_seq
    if wanted.lines is None:
        yield from read(store, stream, start=wanted.start, stop=last, **wanted.filters)
    else:
        yield from _last(store, stream, wanted, last, wanted.lines)
    if wanted.follow:
        yield from follow(store, stream, start=max(wanted.start, last + 1), stop=stop, **wanted.filters)


def _last(store: Store, stream: str, wanted: Wanted, last: int, count: int) -> Iterator[Event]:
    """The last `count` events up to `last` that are wanted, in order. Looked for from the end, so that neither the
    length of a stream nor damage at its beginning keeps anybody from its end."""
    from eventlog.reader import read

    found: deque[Event] = deque()
    window = max(count, _WINDOW)
    while len(found) < count and last >= wanted.start:
        first = max(wanted.start, last - window + 1)
        part = deque(read(store, stream, start=first, stop=last, **wanted.filters), maxlen=count - len(found))
        found.extendleft(reversed(part))
        last, window = first - 1, 2 * window
    yield from found


def _follow_all(store: Store, live: list[str], wanted: Wanted, printer: _Printer) -> None:
    """Follow all of `live` and every run that begins later, until the user stops it. One that cannot be read is told
    and left."""
    from eventlog.errors import LogError

    arrived: queue.Queue[tuple[str, Event | Exception]] = queue.Queue(_AHEAD)
    stop = threading.Event()

    def put(stream: str, what: Event | Exception) -> None:
        waiting = True
        while waiting and not stop.is_set():
            with contextlib.suppress(queue.Full):
                arrived.put((stream, what), timeout=_LOOK_S)
                waiting = False

    def pump(stream: str) -> None:
        try:
            for event in _events(store, stream, wanted, stop):
                put(stream, event)
        except Exception as error:  # noqa: BLE001 - raised again where the user sees it
            put(stream, error)

    known = set(store.streams()) - set(live)
    try:
        while True:
            for stream in set(store.streams()) - known - {"catalog"}:
                known.add(stream)
                threading.Thread(target=pump, args=(stream,), name=f"tail {stream}", daemon=True).start()
            try:
                stream, found = arrived.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if isinstance(found, LogError):
                say(f"hemra: {stream} is followed no further: {found}", err=True)
            elif isinstance(found, Exception):
                raise found
            else:
                printer.print(stream, found)
    finally:
        stop.set()


class _Printer:
    """Writes events, each as soon as it is there."""

    def __init__(self, store: Store, *, as_json: bool) -> None:
        import sys

        from hemra.reports.page import page_width, wants_colour

        self._store = store
        self._as_json = as_json
        self._raw: dict[str, RawLines] = {}
        self._colour = wants_colour()
        self._width = page_width() if sys.stdout.isatty() else None
        self.several = False

    def print(self, stream: str, event: Event) -> None:
        """One event on one line."""
        if self._as_json:
            raw = self._raw.setdefault(stream, RawLines(self._store, stream)).at(event.seq)
            write_bytes(raw + b"\n")
            return
        from hemra.cli.eventline import colour_of, event_line

        run = stream if self.several else None
        say((event_line(event, run=run, width=self._width), colour_of(event) if self._colour else None))


class RawLines:
    """The lines of a stream exactly as stored, asked for by ascending seq."""

    def __init__(self, store: Store, stream: str) -> None:
        self._store = store
        self._stream = stream
        self._next = 0
        self._lines: Iterator[bytes] = iter(())

    def at(self, seq: int) -> bytes:
        """The line of event `seq`, which was read already and so is there."""
        from eventlog.reader import read_lines

        for line in self._lines:
            self._next += 1
            if self._next > seq:
                return line
        # What was read ahead is used up: the stream has grown, or this is the first event.
        self._lines = read_lines(self._store, self._stream, start=seq)
        self._next = seq + 1
        return next(self._lines)
