"""The one writer of a stream: group commits, acknowledgement after the sync, a new segment at every open."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from eventlog import anchor as anchors
from eventlog.anchor import Anchor
from eventlog.crashpoints import crash_point
from eventlog.disk import fsync_dir, make_dir
from eventlog.envelope import encode, with_seq
from eventlog.errors import DamageError, RecorderRefused, StoreError
from eventlog.frames import LIVE_CONTENT, pack_unit
from eventlog.lock import NAME as LOCK
from eventlog.lock import Lock
from eventlog.producers import remember
from eventlog.recovery import Recovered, recover
from eventlog.schemas.base import EventData
from eventlog.segments import list_segments, name_of
from eventlog.store import Store

#: A live segment that has grown to this many bytes is closed; it is sealed in the background, in a quiet moment
#: or when so many wait for one.
ROLL_BYTES = 32 * 1024 * 1024
SEAL_BACKLOG = 8
#: Sealing in the background yields the processor to appends.
_SEAL_NICE = 10
#: What `seq` and the newline add to a line, at most.
_SEQ_ROOM = 28
#: Closing seals once a stream has this many segments, so that a stream of small appends stays small.
MANY_SEGMENTS = 32


class Incoming(NamedTuple):
    """What one producer hands over: lines without `seq`, numbered by the producer from `first` on."""

    producer: bytes
    first: int
    lines: Sequence[bytes]


class Ack(NamedTuple):
    """The answer to one Incoming: seqs of what is now durable (None: all of it was already recorded)."""

    first_seq: int | None
    last_seq: int | None
    duplicates: int
    error: str | None = None


class StreamWriter:
    """Appends to one stream. Holds its lock; not thread-safe (one recorder loop drives it)."""

    def __init__(self, store: Store, name: str, lock: Lock, recovered: Recovered, anchor: Anchor) -> None:
        self.store = store
        self.name = name
        self.path = store.stream_path(name)
        self.recovered = recovered
        self._lock = lock
        self._anchor = anchor
        self._last = recovered.last
        self._link = recovered.link
        self._marks = recovered.marks
        self._fd = -1
        self._segment = 0
        self._size = 0
        self._producer = os.urandom(16)
        self._number = 0
        self._sealing: threading.Thread | None = None
        self._full = 0
        self._closed = False

    @classmethod
    def open(cls, store: Store, name: str, *, create: bool = False, lock_wait_s: float = 0.5) -> StreamWriter:
        """Take the stream's lock and recover it.

        With `create` the stream is made and must not exist yet. Raises StreamBusy, StreamNotFound, StoreError,
        DamageError.
        """
        path = store.stream_path(name)
        if create:
            _create_dir(path)
        path = store.existing_stream(name)
        lock = Lock(path / LOCK, lock_wait_s)
        try:
            # Who made these folders may have died before their names were durable.
            fsync_dir(path.parent)
            fsync_dir(path.parent.parent)
            recovered = recover(path)
            mark = anchors.load(path)
            if mark is None:
                raise DamageError(path / anchors.NAME, 0, "the anchor cannot be read back")
            return cls(store, name, lock, recovered, Anchor(path, mark._replace(state=anchors.OPEN)))
        except BaseException:
            lock.release()
            raise

    @property
    def last_seq(self) -> int:
        """Seq of the last durable event; 0 in an empty stream."""
        return self._last

    def append(self, data: EventData, *, trial: str | None = None, source: str = "hemra") -> int:
        """Record one event and return its seq once it is on disk. Raises BadEvent or RecorderRefused."""
        line = encode(data, source=source, trial=trial, blobs=self.store.blobs)
        try:
            (ack,) = self.commit([Incoming(self._producer, self._number + 1, [line])])
        except RecorderRefused:
            # What was refused may still come back from a torn tail: its number must never mean another event.
            self._producer, self._number = os.urandom(16), 0
            raise
        if ack.last_seq is None:
            raise RecorderRefused(
                f"{self.path} did not record an event: {ack.error or 'it was there already'}"
            )
        self._number += 1
        return ack.last_seq

    def commit(self, batch: Sequence[Incoming]) -> list[Ack]:
        """Record what several producers handed over: one write, one sync, one anchor.

        After the return every line that an Ack names is on disk. Lines that were recorded before (a resend)
        are not recorded again. Raises RecorderRefused when the disk refuses: nothing of the batch counts then,
        the segment is given up, and the next commit begins a new one.
        """
        acks, chosen, marks = self._choose(batch)
        if not chosen:
            return acks
        try:
            self._write(chosen)
        except OSError as error:
            self._give_up_segment()
            raise RecorderRefused(f"cannot write to {self.path}: {error.strerror or error}") from error
        remember(self._marks, marks)
        if self._size >= ROLL_BYTES:
            self._roll()
        return acks

    def _choose(self, batch: Sequence[Incoming]) -> tuple[list[Ack], list[Incoming], dict[bytes, int]]:
        """Acks, what is to be written in order, and the marks that will then hold."""
        acks: list[Ack] = []
        chosen: list[Incoming] = []
        marks: dict[bytes, int] = {}
        seq = self._last
        for producer, first, lines in batch:
            known = marks.get(producer, self._marks.get(producer, 0))
            if known and first > known + 1:
                acks.append(
                    Ack(None, None, 0, f"events {known + 1} to {first - 1} of this producer never came")
                )
                continue
            skip = min(max(0, known + 1 - first), len(lines)) if known else 0
            fresh = lines[skip:] if skip else lines
            if fresh:
                chosen.append(Incoming(producer, first + skip, fresh))
                marks[producer] = first + len(lines) - 1
            acks.append(Ack(seq + 1 if fresh else None, seq + len(fresh) if fresh else None, skip))
            seq += len(fresh)
        return acks, chosen, marks

    def _units(self, chosen: Sequence[Incoming]) -> Iterator[tuple[bytes, int, dict[bytes, int]]]:
        """Cut the lines into frames of at most LIVE_CONTENT bytes: (content, number of lines, marks) of each."""
        seq, size = self._last, 0
        full: list[bytes] = []
        marks: dict[bytes, int] = {}
        for producer, first, lines in chosen:
            for number, line in enumerate(lines, first):
                seq += 1
                size += len(line) + _SEQ_ROOM
                if size > LIVE_CONTENT and full:
                    if number > first:
                        marks[producer] = number - 1
                    yield b"\n".join(full) + b"\n", len(full), marks
                    full, marks, size = [], {}, len(line) + _SEQ_ROOM
                full.append(with_seq(line, seq))
            marks[producer] = first + len(lines) - 1
        yield b"\n".join(full) + b"\n", len(full), marks

    def _write(self, chosen: Sequence[Incoming]) -> None:
        if self._anchor.closed:
            self._anchor = Anchor(self.path, self._anchor.mark)
        fresh_segment = self._fd < 0
        if fresh_segment:
            self._open_segment()
        last, link = self._last, self._link
        out: list[bytes] = []
        for content, count, marks in self._units(chosen):
            # A segment's first frame repeats all marks, so that reopening needs to read no older segment.
            all_marks = {**self._marks, **marks} if fresh_segment and not out else marks
            packed = pack_unit(
                content, stream=self._anchor.mark.stream, first=last + 1, count=count, synced=self._last,
                prev=link, marks=all_marks,
            )  # fmt: skip
            link = packed.link
            out += packed.header, packed.frame
            last += count
        data = b"".join(out)
        crash_point("commit.before_write")
        written = os.write(self._fd, data)
        if written != len(data):
            raise OSError(28, f"only {written} of {len(data)} bytes could be written (disk full?)")
        crash_point("commit.before_sync")
        os.fdatasync(self._fd)
        if fresh_segment:
            fsync_dir(self.path)  # the new file's name must survive too before anything in it is acknowledged
        crash_point("commit.after_sync")
        self._anchor.advance(
            sync=fresh_segment, segment=self._segment, offset=self._size + len(data), last=last, link=link
        )
        self._size += len(data)
        self._last, self._link = last, link
        crash_point("commit.after_anchor")

    def _open_segment(self) -> None:
        self._segment, self._size = self._last + 1, 0
        path = self.path / name_of(self._segment)
        # A file of this name can only hold what a failed write left: recovery kept nothing beyond `_last`. It is
        # not used again: the kernel tells of a failed sync once, and calls the next one of that file good.
        path.unlink(missing_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def _give_up_segment(self) -> None:
        """After a failed write or sync the files are never used again: cut back to what was synced.

        No step may hide the first error. The anchor comes first, in a new file: while the old one may say more
        than was acknowledged, the bytes must stay. What cannot be cut now is recognised by recovery, because
        the next segment begins right after the last acknowledged event.
        """
        # No segment is named: what stands in the given up one above the mark was refused.
        mark = self._anchor.mark._replace(segment=0, offset=0, last=self._last, link=self._link)
        self._anchor.close()
        # Where the new file cannot be made now, the next commit makes it, and must not begin with what was refused.
        self._anchor.mark = mark
        with contextlib.suppress(OSError):
            self._anchor = Anchor(self.path, mark)
        if self._fd < 0:
            return
        if not self._anchor.closed:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
                if self._size == 0:
                    (self.path / name_of(self._segment)).unlink()
        os.close(self._fd)
        self._fd = -1

    @property
    def settled(self) -> bool:
        """Whether nothing is left to sync: `settle` would do nothing."""
        return self._anchor.closed or self._anchor.synced

    def settle(self) -> None:
        """Sync the anchor where it is behind: to be called soon after the last commit of a busy time."""
        try:
            if not self.settled:
                self._anchor.sync()
        except OSError:
            # Nothing was promised that is not on disk. The failed sync is not tried again: a new file is.
            self._give_up_segment()

    def _roll(self) -> None:
        """Close the full segment."""
        self.settle()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._full += 1
        if self._full >= SEAL_BACKLOG:
            self.seal_full()

    def seal_full(self) -> None:
        """Have the full segments sealed while appends go on: sealing takes more of a processor than they do."""
        if not self._full or (self._sealing is not None and self._sealing.is_alive()):
            return
        self._full = 0
        below = self._segment if self._fd >= 0 else self._last + 1
        self._sealing = threading.Thread(target=self._seal_below, args=(below,), name="seal", daemon=True)
        self._sealing.start()

    def _seal_below(self, first: int) -> None:
        from eventlog.seal import seal_segments

        # Elsewhere a thread has no priority of its own, and the main thread's is not ours to change.
        if sys.platform == "linux" and threading.current_thread() is not threading.main_thread():
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _SEAL_NICE)
        # Nothing is lost where it fails: the segments stay as they are, and the end of the stream seals them.
        with contextlib.suppress(OSError, DamageError):
            seal_segments(self.path, below=first)

    def finish(self) -> None:
        """Mark the stream finished, seal everything, release the lock. It can be opened again (resume)."""
        self._end(anchors.FINISHED, seal_all=True)

    def close(self) -> None:
        """Leave the stream as it is, for another writer to go on; safe to call twice."""
        self._end(anchors.CLOSED, seal_all=False)

    def _end(self, state: int, *, seal_all: bool) -> None:
        if self._closed:
            return
        self._closed = True
        from eventlog.seal import seal_segments

        try:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            if self._sealing is not None:
                self._sealing.join()
            # The state first: a stream that could not be sealed (disk full) is finished all the same.
            self._anchor.advance(state=state, segment=0, offset=0)
            if seal_all or len(list_segments(self.path)) >= MANY_SEGMENTS:
                seal_segments(self.path)
        except OSError as error:
            reason = error.strerror or error
            raise RecorderRefused(
                f"{self.path} is complete but could not be closed or sealed: {reason}; try `hemra log seal`"
            ) from error
        finally:
            self._anchor.close()
            self._lock.release()

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_dir(path: Path) -> None:
    make_dir(path.parent)
    try:
        path.mkdir()
    except FileExistsError:
        raise StoreError(f"stream {path.name} exists already in {path.parent}") from None
    fsync_dir(path.parent)
