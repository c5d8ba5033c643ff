"""Live units of a stream as bytes, each as soon as it is durable: what a follower far away gets.

A place in the live segment is kept between calls, so that what is new is read without walking over what is
old. Waiting is that of `follow`: the recorder's wake-ups, else the file system, else time.
"""

from __future__ import annotations

import os
import time
from typing import BinaryIO, NamedTuple

from eventlog import anchor as anchors
from eventlog.errors import DamageError
from eventlog.follow import Alarm
from eventlog.frames import Header, NotAUnit, link_of, read_header
from eventlog.mirror.errors import MirrorError, Parted
from eventlog.mirror.messages import BATCH_BYTES, HEARTBEAT_S
from eventlog.mirror.reach import durable_mark
from eventlog.segments import name_of, sealed_in, trailer_in, visible_segments
from eventlog.store import Store

#: How often in a row the files may change under one look before that is called odd.
_LOOKS = 100


class Batch(NamedTuple):
    """Units of the segment that begins at event `segment`; what follows them must name the link `end`.

    `sealed`: what was asked for is in a sealed segment.
    """

    segment: int
    sealed: bool
    data: bytes
    end: bytes


class Tail:
    """One follower's place in one stream."""

    def __init__(self, store: Store, stream: str) -> None:
        self.stream = stream
        self._path = store.existing_stream(stream)
        self._alarm = Alarm(store, stream, self._path, None)
        self._file: BinaryIO | None = None
        self._segment = 0
        self._next = 0
        self._offset = 0
        self._finished = False

    def units(self, after: int, link: bytes, *, wait: bool) -> Batch:
        """Whole durable units after event `after`; with `wait` none only after HEARTBEAT_S.

        Raises DamageError; Parted when the unit that follows does not name `link`.
        """
        deadline = time.monotonic() + (HEARTBEAT_S if wait else 0.0)
        while True:
            # Listening begins before looking: what comes in between wakes us.
            self._alarm.arm()
            mark = durable_mark(self._path)
            if mark is not None and mark.last > after:
                return self._batch(after, link, mark)
            finished = mark is not None and mark.state == anchors.FINISHED
            news, self._finished = finished and not self._finished, finished
            if news or time.monotonic() >= deadline:
                return Batch(0, False, b"", link)
            self._alarm.wait()
            if finished:
                deadline = time.monotonic()  # it is being sealed: one look, then say how it stands

    def _batch(self, after: int, link: bytes, mark: anchors.Mark) -> Batch:
        for _ in range(_LOOKS):
            if (self._file is None or self._next != after + 1) and not self._find(after + 1):
                return Batch(0, True, b"", link)
            data, end = self._units(link, mark) if self._file is not None else (b"", link)
            if data:
                return Batch(self._segment, False, data, end)
            # Nothing stands here although it is durable: the file was replaced. Look where it stands now.
            self._leave()
        raise MirrorError(f"event {after + 1} of {self.stream} cannot be found: `hemra log verify` names why")

    def _units(self, link: bytes, mark: anchors.Mark) -> tuple[bytes, bytes]:
        """Units from this place on, up to the end of the segment, and the last one's link; empty where none follows."""
        assert self._file is not None
        taken: list[bytes] = []
        size = 0
        while self._next <= mark.last and size < BATCH_BYTES and not self._ends_here():
            try:
                header = read_header(self._file, self._offset)
                raw = os.pread(self._file.fileno(), header.size + header.frame_len, self._offset)
            except (NotAUnit, EOFError) as stop:
                if not taken and not self._replaced():
                    raise self._damaged(str(stop) or "it ends here") from None
                break
            self._check(header, len(raw), link, mark)
            taken.append(raw)
            size += len(raw)
            link, self._next, self._offset = link_of(raw), header.last + 1, header.end
        named = self._named(mark) if taken else link
        if named not in (None, link):
            # Some bits of a zstd frame can flip and leave its content as it was: only the next link tells.
            raise self._damaged(f"event {self._next - 1} is not in the frame that the next one names")
        return b"".join(taken), link

    def _named(self, mark: anchors.Mark) -> bytes | None:
        """The link of the last unit taken, as whatever comes after it says; None where that cannot be read now."""
        if self._next > mark.last:
            return mark.link
        assert self._file is not None
        try:
            if not self._ends_here():
                return read_header(self._file, self._offset).prev
            with (self._path / name_of(self._next)).open("rb") as following:
                return read_header(following, 0).prev
        except (NotAUnit, EOFError, FileNotFoundError):
            return None

    def _check(self, header: Header, size: int, link: bytes, mark: anchors.Mark) -> None:
        sound = header.stream == mark.stream and header.first == self._next and header.last <= mark.last
        if not sound or size < header.size + header.frame_len:
            raise self._damaged(f"event {self._next} should stand here")
        if header.prev != link:
            raise Parted(f"event {self._next} of {self.stream} follows on another event here", self._next)

    def _ends_here(self) -> bool:
        """Whether the writer went on in a new segment: what still stands in this one was a failed write."""
        return self._next != self._segment and (self._path / name_of(self._next)).exists()

    def _replaced(self) -> bool:
        """Whether the open file has lost its name to another, as it does when it is sealed."""
        assert self._file is not None
        try:
            now = os.stat(self._path / name_of(self._segment))
        except FileNotFoundError:
            return True
        return now.st_ino != os.fstat(self._file.fileno()).st_ino

    def _damaged(self, cause: str) -> DamageError:
        return DamageError(self._path / name_of(self._segment), self._offset, cause)

    def _find(self, position: int) -> bool:
        """Go to the live unit that begins at `position`; False where that event is in a sealed file."""
        self._leave()
        holding = [s for s in visible_segments(self._path) if s.first <= position]
        if not holding:
            return True  # nothing is there: `_batch` looks again, or says so
        try:
            file = holding[-1].path.open("rb")
        except FileNotFoundError:
            return True
        try:
            if sealed_in(file):
                inside = trailer_in(holding[-1], file).trailer.last >= position
                file.close()
                return not inside
            self._file, self._segment, self._next = file, holding[-1].first, position
            self._offset = self._place_of(file, position)
        except BaseException:
            self._leave()
            file.close()
            raise
        return True

    def _place_of(self, file: BinaryIO, position: int) -> int:
        """The offset at which the unit of event `position` begins, or the end of what stands before it."""
        offset = 0
        try:
            while (header := read_header(file, offset)).first < position:
                if header.last >= position:
                    raise Parted(f"event {position} of {self.stream} stands inside a frame here", position)
                offset = header.end
        except (NotAUnit, EOFError):
            return offset  # `_units` says what is wrong here
        return offset

    def _leave(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Stop waiting and close what is open; safe to call twice."""
        self._leave()
        self._alarm.close()
