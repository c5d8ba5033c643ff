"""What producers know at a point of a trace: sent, acknowledged, refused; and so what a store must hold there.

Drivers put notes into the trace. `ledger_at` reads those before a cut; what it returns is all that the checks may
use, so that they judge a store by what its users were told and by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eventlog.stream import Incoming
from tests.faults.trace import Op

#: Notes and their data.
STORE = "store"  # None: Store.open(create=True) returned
CREATED = "created"  # stream: it exists from here on
UNSURE = "unsure"  # stream: a writer is about to open or close it
OPENED = "opened"  # stream, [lines]: a writer opened it; these events stood in it then
SENT = "sent"  # stream, [Incoming]
ACKED = "acked"  # stream, producer, first seq, number of new lines
REFUSED = "refused"  # stream, producer
ENDED = "ended"  # stream, finished?: the writer closed it
BLOB = "blob"  # digest: put returned
IMPORTING = "importing"  # bundle, {stream: [lines]}: an import began that brings these
IMPORTED = "imported"  # the same: it returned


@dataclass
class StreamLedger:
    """One stream. Lines are as producers sent them, without `seq`."""

    #: Seq -> line, for what was acknowledged or was seen by a writer that opened the stream.
    sure: dict[int, bytes] = field(default_factory=dict)
    sent: set[bytes] = field(default_factory=set)
    #: Not yet answered: what a client would send again.
    in_flight: dict[bytes, Incoming] = field(default_factory=dict)
    #: Whether it must exist, and whether it must be marked finished (None: either).
    created: bool = False
    finished: bool | None = False


@dataclass
class Ledger:
    """All of a store."""

    store: bool = False
    streams: dict[str, StreamLedger] = field(default_factory=dict)
    blobs: list[str] = field(default_factory=list)
    #: The last import that was begun, and what it brings.
    bundle: Path | None = None
    brought: dict[str, list[bytes]] = field(default_factory=dict)

    def of(self, stream: str) -> StreamLedger:
        """One stream's part."""
        return self.streams.setdefault(stream, StreamLedger())

    def demands(self) -> int:
        """A number that differs where something else is demanded of a store (or, rarely, does not)."""
        streams = [
            (name, len(s.sure), s.created, s.finished, frozenset(s.in_flight))
            for name, s in self.streams.items()
        ]
        return hash((self.store, tuple(streams), len(self.blobs), self.bundle))


def ledger_at(ops: list[Op], at: int) -> Ledger:
    """What the notes among the first `at` operations say."""
    ledger = Ledger()
    for op in ops[:at]:
        if op.kind == "note":
            _take(ledger, op)
    return ledger


def _take(ledger: Ledger, op: Op) -> None:
    match op.name:
        case "store":
            ledger.store = True
        case "blob":
            ledger.blobs.append(op.data)
        case "created":
            ledger.of(op.data).created = True
        case "unsure":
            ledger.of(op.data).finished = None
        case "opened":
            name, lines = op.data
            stream = ledger.of(name)
            stream.created, stream.finished = True, None
            stream.sure = dict(enumerate(lines, 1))
        case "sent":
            name, batch = op.data
            for incoming in batch:
                ledger.of(name).sent.update(incoming.lines)
                ledger.of(name).in_flight[incoming.producer] = incoming
        case "acked":
            name, producer, first, fresh = op.data
            stream = ledger.of(name)
            lines = stream.in_flight.pop(producer).lines
            # What was there already was acknowledged by being recognised; where it stands is not said.
            stream.sure.update(enumerate(lines[len(lines) - fresh :], first))
        case "refused":
            name, producer = op.data
            ledger.of(name).in_flight.pop(producer)
        case "ended":
            name, ledger.of(op.data[0]).finished = op.data
        case "importing" | "imported":
            _import(ledger, *op.data, done=op.name == "imported")


def _import(ledger: Ledger, bundle: Path, brought: dict[str, list[bytes]], *, done: bool) -> None:
    ledger.bundle, ledger.brought = bundle, brought
    for name, lines in brought.items():
        stream = ledger.of(name)
        stream.sent.update(lines)
        stream.finished = None
        if done:
            stream.created, stream.sure = True, dict(enumerate(lines, 1))
