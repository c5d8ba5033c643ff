"""Judging a store after a power cut with the real code: what it holds, and that it goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

from eventlog.bundle import import_
from eventlog.errors import DamageError, LogError, StreamNotFound
from eventlog.reader import read, read_lines, stream_state
from eventlog.store import CATALOG, Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import ERROR
from tests.faults.ledger import Ledger, StreamLedger

#: What may be said, word for word, of a store after a cut, before anybody opened it for writing: a write of one of the
#: anchor's two slots was torn. The other slot stands, and the next writer makes both anew.
STATED = (
    re.compile(r"an anchor slot is damaged; the other one is used"),
    re.compile(
        r"a slot is damaged, and whether events \d+ to \d+ were acknowledged is in doubt; `hemra log seal` keeps them"
    ),
)


class Broken(AssertionError):
    """A promise that does not hold in a rebuilt store."""


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise Broken(what)


def lines_of(store: Store, name: str, *, stated: bool = False) -> list[bytes]:
    """Every event as its producer sent it; seqs must be dense. With `stated`, what STATED lists may be said."""
    found = []
    for seq, line in enumerate(read_lines(store, name, on_damage=_let_stated_pass if stated else None), 1):
        head = b'{"seq":%d,' % seq
        _require(line.startswith(head), f"{name}: {line[:40]!r} stands where seq {seq} should")
        found.append(b"{" + line[len(head) :])
    return found


def _let_stated_pass(error: DamageError) -> None:
    if not _is_stated(error.cause):
        raise error


def _is_stated(cause: str) -> bool:
    return any(pattern.fullmatch(cause) for pattern in STATED)


def judge(root: Path, ledger: Ledger, *, import_first: bool = True) -> None:
    """Check everything that is promised of the store in `root`. Raises Broken, or whatever the real code raises.

    An import that may have been cut short is either done again before anything else, or left as it is.
    """
    try:
        store = Store.open(root)
    except LogError as error:
        _require(not ledger.store, f"the store was made, and now: {error}")
        store = Store.open(root, create=True)
    for digest in ledger.blobs:
        store.blobs.get(digest)
    for name in sorted({*ledger.streams, *store.streams()}):
        _before_opening(store, name, ledger.of(name))
    if ledger.bundle is not None and import_first:
        _import_again(store, ledger.bundle, ledger)
    for name in sorted({*ledger.streams, *store.streams()}):
        _go_on(store, name, ledger.of(name))
    report = verify(store)
    allowed = "" if import_first or ledger.bundle is None else "was cut short: import the bundle again"
    problems = [str(p) for p in report.problems if not (allowed and allowed in p.cause)]
    _require(not problems, f"after going on: {problems}")


def _before_opening(store: Store, name: str, stream: StreamLedger) -> None:
    """A reader that comes before any writer sees all there must be; verification says only what is stated."""
    try:
        seen = lines_of(store, name, stated=True)
        state = stream_state(store, name)
    except StreamNotFound:
        _require(not stream.created, f"{name} was made and is not there")
        return
    _complete(name, stream, seen)
    if stream.finished is not None:
        _require(state.finished == stream.finished, f"{name}: finished is {state.finished}")
    for problem in verify(store, [name]).problems:
        _require(problem.severity != ERROR or _is_stated(problem.cause), f"verify says {problem}")


def _import_again(store: Store, bundle: Path, ledger: Ledger) -> None:
    """The same import completes what was cut short, and the catalog says once that it came."""
    import_(store, bundle)
    for name, lines in ledger.brought.items():
        _require(lines_of(store, name) == lines, f"{name} is not what the bundle brings")
        ledger.of(name).created, ledger.of(name).finished = True, None
        ledger.of(name).sure = dict(enumerate(lines, 1))
    digests = [event.data["digest"] for event in read(store, CATALOG)]
    _require(len(digests) == len(set(digests)) > 0, f"the catalog names imports twice, or none: {digests}")
    _require(not import_(store, bundle).changed, "a third import changes something again")


def _true_so_far(name: str, stream: StreamLedger, seen: list[bytes]) -> None:
    _require(len(set(seen)) == len(seen), f"{name}: an event stands there twice")
    for seq, line in enumerate(seen, 1):
        if line != stream.sure.get(seq, line):
            raise Broken(f"{name}: event {seq} is {_short(line)}")
        if line not in stream.sent and name != CATALOG:
            raise Broken(f"{name}: event {seq} was sent by nobody: {_short(line)}")


def _complete(name: str, stream: StreamLedger, seen: list[bytes]) -> None:
    _true_so_far(name, stream, seen)
    lost = [seq for seq in stream.sure if seq > len(seen)]
    _require(not lost, f"{name}: events {lost} were acknowledged; {len(seen)} are there")


def _go_on(store: Store, name: str, stream: StreamLedger) -> None:
    """Open, send again what was not answered, append, close; everything is there once."""
    writer = _opened(store, name, stream)
    with writer:
        seen = lines_of(store, name)
        _require(len(seen) == writer.last_seq, f"{name}: {len(seen)} events, writer at {writer.last_seq}")
        _complete(name, stream, seen)
        again = [Incoming(i.producer, i.first, i.lines) for i in stream.in_flight.values()]
        fresh = b'{"id":"0199-fresh","time":"2026-01-01T00:00:00.000000000Z","mono":1,"type":"tool.called","v":1,' \
                b'"source":"test","trial":null,"data":{"call":"fresh","name":"t","arguments":null}}'  # fmt: skip
        batch = [*again, Incoming(b"fresh".ljust(16), 1, [fresh])]
        acks = writer.commit(batch)
        _require(not any(ack.error for ack in acks), f"{name}: a resend was refused: {acks}")
        after = lines_of(store, name)
        resent = [line for incoming in again for line in incoming.lines]
        _require(after[: len(seen)] == seen and after[-1] == fresh, f"{name}: not appended to")
        _require(len(set(after)) == len(after), f"{name}: a resent event stands there twice")
        _require(set(after) == {*seen, *resent, fresh}, f"{name}: what was sent again is not all there")
        writer.finish()
    _require(lines_of(store, name) == after, f"{name}: closing changed what is read")
    _require(stream_state(store, name).finished, f"{name} is not finished")


def _opened(store: Store, name: str, stream: StreamLedger) -> StreamWriter:
    """The stream opened, or made where it was never certain to exist."""
    try:
        return StreamWriter.open(store, name)
    except StreamNotFound:
        _require(not stream.created, f"{name} was made and is not there")
        return StreamWriter.open(store, name, create=True)


def _short(line: bytes) -> str:
    try:
        return str(json.loads(line)["data"])[:60]
    except (ValueError, KeyError, TypeError):
        return repr(line[:60])
