"""Repairing a stream: a copy in another store that holds every event that is left, and says what is not.

The original is read and never written. In the copy every event keeps its seq and its bytes. Where one was
lost an `event.lost` stands in its place, so seq stays dense and every reader of a log reads the copy; its
last event, `stream.repaired`, says what is missing, and verifier and reports repeat it. The copy is a stream
of its own (another stream id): it can be verified, exported and gone on with, and never passes for the original.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from eventlog.aside import adopt_blobs, adopt_stream, aside
from eventlog.envelope import MAX_EVENT, decode_lines, encode
from eventlog.errors import BadEvent, DamageError, LogError, RepairError
from eventlog.frames import NotAUnit, content_of, read_unit
from eventlog.payloads import may_need, needs
from eventlog.repair_blobs import Payloads
from eventlog.repair_report import Damage, LostEvents, RepairReport
from eventlog.salvage import Gap, Part, Salvage, salvage
from eventlog.schemas.repairs import EventLost, LostRange, StreamRepaired
from eventlog.seal import seal
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.undisturbed import undisturbed
from eventlog.verify import verify

SOURCE = "repair"
#: More lost events than this cannot be stood in for one by one.
MAX_LOST = 10_000_000
_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_EVENTS = 4096


def examine(store: Store, name: str) -> RepairReport:
    """What a repair of the stream would keep and lose; writes nothing. Raises as `repair` does."""
    path = store.existing_stream(name)
    with undisturbed(path):
        return _Repair(store, name, salvage(path), None).run()


def repair(store: Store, name: str, target: Path) -> RepairReport:
    """Write a repaired copy of stream `name` into the store at `target` (made if need be); a sound one is left alone.

    Nothing of the copy is visible before it was verified. Raises StreamNotFound, StreamBusy (it is being
    written), StoreError (a later hemra wrote it, or `target` is no store), and RepairError when `target` is the
    same store or has a stream of this name, when nothing is left, or when the disk refuses.
    """
    path = store.existing_stream(name)
    if target.exists() and os.path.samefile(store.path, target):
        raise RepairError(f"{store.path} holds the original, which is never touched: name another store")
    if (target / "log" / name).exists():
        raise RepairError(f"{target} has a stream {name} already: name another store")
    with undisturbed(path):
        found = salvage(path)
        report = _Repair(store, name, found, None).run()
        if report.sound:
            return report
        if not report.kept:
            raise RepairError(f"nothing is left of {name} in {store.path}: {'; '.join(report.problems[:3])}")
        try:
            copies = Store.open(target, create=True)
            with aside(copies) as staged:
                made = _Repair(store, name, found, staged).run()
                _check(staged, name)
                adopt_blobs(copies, staged, _blobs_of(staged))
                adopt_stream(copies, staged, name)
        except OSError as error:
            raise RepairError(f"cannot write a copy to {target}: {error.strerror or error}") from error
    return msgspec.structs.replace(made, target=str(copies.path))


def _check(staged: Store, name: str) -> None:
    """The copy must be sound before anybody sees it."""
    bad = [problem for problem in verify(staged, [name]).problems if problem.severity == "error"]
    if bad:
        raise RepairError(f"the repaired copy of {name} would not be sound itself: {bad[0]}")


def _blobs_of(staged: Store) -> Iterator[tuple[str, int]]:
    for path in sorted(staged.blobs.root.glob("sha256/*/*")):
        yield path.parent.name + path.name, path.stat().st_size


@dataclass
class _Lost:
    """Events that follow each other and were lost by one cause."""

    first: int
    last: int
    cause: str
    path: Path | None
    offset: int | None
    frames: int | None


@dataclass
class _Batch:
    """Lines on their way into the copy, numbered as the one producer's; `seq` is the last one's."""

    writer: StreamWriter | None
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    seq: int = 0
    _producer: bytes = field(default_factory=lambda: os.urandom(16))

    def add(self, line: bytes) -> None:
        """Take the next event, without its seq."""
        self.seq += 1
        if self.writer is None:
            return
        self.lines.append(line)
        self.size += len(line)
        if self.size >= _BATCH_BYTES or len(self.lines) >= _BATCH_EVENTS:
            self.flush()

    def flush(self) -> None:
        """Commit what is pending; every event gets the seq that it had."""
        if self.writer is None or not self.lines:
            return
        first = self.seq - len(self.lines) + 1
        (ack,) = self.writer.commit([Incoming(self._producer, first, self.lines)])
        if (ack.first_seq, ack.last_seq) != (first, self.seq):
            raise RepairError(f"events {first} to {self.seq} were not recorded: {ack.error}")
        self.lines, self.size = [], 0


class _Repair:
    """One pass over what was salvaged; without `staged` it only counts."""

    def __init__(self, store: Store, name: str, found: Salvage, staged: Store | None) -> None:
        self.store = store
        self.name = name
        self.found = found
        self.staged = staged
        self.payloads = Payloads(store.blobs, staged.blobs if staged is not None else None)
        self.lost: list[_Lost] = []
        missing = sum(gap.last - gap.first + 1 for gap in found.gaps)
        if missing > MAX_LOST:
            raise RepairError(
                f"{missing} events of {name} are missing up to event {found.last}; a copy can stand in for "
                f"{MAX_LOST} at most"
            )

    def run(self) -> RepairReport:
        """Copy, or count."""
        writer = None if self.staged is None else StreamWriter.open(self.staged, self.name, create=True)
        try:
            batch = _Batch(writer)
            self._copy(batch)
            batch.flush()
            report = self._report(batch.seq)
            if writer is not None:
                writer.append(self._event(report), source=SOURCE)
                if self.found.finished:
                    writer.finish()
        finally:
            if writer is not None:
                writer.close()
        if self.staged is not None and not self.found.finished:
            seal(self.staged, self.name)
        return report

    def _copy(self, batch: _Batch) -> None:
        pieces: list[Part | Gap] = sorted(
            [*self.found.parts, *self.found.gaps], key=lambda piece: piece.first
        )
        for piece in pieces:
            if isinstance(piece, Gap):
                self._lose(batch, _lost_in(piece))
                continue
            for seq, line in _lines(piece):
                cause = _fault(seq, line) or self._payloads(seq, line)
                if cause is None:
                    batch.add(b"{" + line[len(_prefix(seq)) :])
                else:
                    place = piece.frame
                    self._lose(batch, _Lost(seq, seq, cause, place.path, place.offset, None))

    def _lose(self, batch: _Batch, lost: _Lost) -> None:
        """Put an `event.lost` where each event was."""
        before = self.lost[-1] if self.lost else None
        if before and (before.last + 1, before.cause, before.path) == (lost.first, lost.cause, lost.path):
            before.last = lost.last
        else:
            self.lost.append(lost)
        file = lost.path.name if lost.path is not None else None
        data = EventLost(first=lost.first, last=lost.last, cause=lost.cause, file=file, offset=lost.offset)
        for _ in range(lost.first, lost.last + 1):
            batch.add(encode(data, source=SOURCE, trial=None, blobs=None) if self.staged is not None else b"")

    def _payloads(self, seq: int, line: bytes) -> str | None:
        """Bring an event's payloads over; why the event itself is no use, where it names them by nonsense."""
        if not may_need(line):
            return None
        try:
            named = needs(decode_lines(line)[0])
        except BadEvent as error:
            return str(error)
        self.payloads.bring(seq, named)
        return None

    def _report(self, last: int) -> RepairReport:
        lost = sum(part.last - part.first + 1 for part in self.lost)
        verified = verify(self.store, [self.name])
        return RepairReport(
            stream=self.name,
            source=str(self.store.path),
            target=None,
            sound=verified.ok and not lost,
            last=last,
            kept=last - lost,
            lost=lost,
            end=self.found.end,
            ranges=[_range(part) for part in self.lost],
            blobs=self.payloads.kept,
            lost_blobs=self.payloads.lost(),
            damage=[
                Damage(
                    file=p.path.name, offset=p.offset, bytes=p.size, cause=p.cause, first=p.first, last=p.last
                )
                for p in self.found.places
            ],
            problems=[str(problem) for problem in verified.problems],
        )

    def _event(self, report: RepairReport) -> StreamRepaired:
        return StreamRepaired(
            original=self.found.stream.hex(),
            store=self.store.id,
            last=report.last,
            kept=report.kept,
            lost=report.lost,
            ranges=[
                LostRange(first=r.first, last=r.last, cause=r.cause, file=r.file, offset=r.offset)
                for r in report.ranges
            ],
            lost_blobs=[blob.digest for blob in report.lost_blobs],
            end=report.end,
        )


def _range(lost: _Lost) -> LostEvents:
    return LostEvents(
        first=lost.first,
        last=lost.last,
        events=lost.last - lost.first + 1,
        frames=lost.frames,
        cause=lost.cause,
        file=lost.path.name if lost.path is not None else None,
        offset=lost.offset,
    )


def _lost_in(gap: Gap) -> _Lost:
    """A gap with its cause: what stands in its place, or that nothing does."""
    if not gap.places:
        return _Lost(gap.first, gap.last, "no segment holds them", None, None, None)
    known = [place for place in gap.places if place.first is not None]
    covered = sum((place.last or 0) - (place.first or 0) + 1 for place in known)
    frames = len(known) if covered == gap.last - gap.first + 1 else None
    causes = "; ".join(dict.fromkeys(place.cause for place in gap.places))
    return _Lost(gap.first, gap.last, causes[:1000], gap.places[0].path, gap.places[0].offset, frames)


def _prefix(seq: int) -> bytes:
    return b'{"seq":%d,' % seq


def _lines(part: Part) -> Iterator[tuple[int, bytes]]:
    """Each event of a part: its seq and its line."""
    frame = part.frame
    with frame.path.open("rb") if frame.mended is None else io.BytesIO(frame.mended) as file:
        try:
            content = content_of(read_unit(file, frame.offset if frame.mended is None else 0))
        except (NotAUnit, EOFError) as error:
            raise DamageError(
                frame.path, frame.offset, f"it changed while it was repaired: {error}"
            ) from None
    lines = content.split(b"\n")[part.first - frame.first : part.last - frame.first + 1]
    return enumerate(lines, part.first)


def _fault(seq: int, line: bytes) -> str | None:
    """Why a line of a sound frame is no event of the log; None when it is one."""
    if len(line) > MAX_EVENT:
        return f"its line has {len(line)} bytes; {MAX_EVENT} are possible"
    if not line.startswith(_prefix(seq)):
        return f"another line than event {seq} stands in its place"
    try:
        (event,) = decode_lines(line)
    except (msgspec.MsgspecError, LogError, ValueError) as error:
        return f"it does not decode: {error}"
    return None if event.seq == seq else f"it says that it is event {event.seq}"
