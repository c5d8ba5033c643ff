"""The anchor: how far a stream is durable, kept outside the bytes it guards.

The file `anchor` holds two slots of 512 bytes; the valid slot with the higher counter counts. It is written
after the sync of the data and before the answer to the producers, so every acknowledged event lies at or below
it: what is wrong below is damage, what is wrong above may be a torn write.

It is *written* at every commit and *synced* at the first commit of a segment, at least every `SYNC_S` while
commits go on, soon after the last one, and at every change of state. Whatever dies but the machine, it is exact.
After a power cut it may stand where it was synced last; then every header behind it that can be read still
names what was durable before it (see `standing` and `recovery`). One slot always holds the mark that was synced
last: until the other one is synced too, only that other one is written.

    slot  4s tag "HMRN" · u16 version · u16 state (0 open, 1 closed, 2 finished) · u64 counter
          8s stream id · u64 first seq of the live segment (0: none) · u64 offset in it · u64 last seq
          16s link of the last unit · zeros · u32 CRC-32 of the 508 bytes before it
"""

from __future__ import annotations

import errno
import os
import struct
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from eventlog.crashpoints import crash_point
from eventlog.disk import replacing
from eventlog.errors import StoreError
from eventlog.failing_disk import refuse_lost
from eventlog.frames import NO_LINK

NAME = "anchor"
#: While commits go on, the anchor's own sync is at most this many seconds behind theirs.
SYNC_S = 0.1
OPEN, CLOSED, FINISHED = 0, 1, 2
_SLOT = 512
_BODY = struct.Struct("<4sHHQ8sQQQ16s")
_TAG, _VERSION = b"HMRN", 1
_MAX_NUMBER = (1 << 63) - 1


class Mark(NamedTuple):
    """What a slot says. Events up to `last` are durable; `segment`/`offset` say where they end."""

    state: int
    counter: int
    stream: bytes
    segment: int
    offset: int
    last: int
    link: bytes


def _pack(mark: Mark) -> bytes:
    body = _BODY.pack(_TAG, _VERSION, mark.state, mark.counter, mark.stream, mark.segment, mark.offset, mark.last,
                      mark.link)  # fmt: skip
    body = body.ljust(_SLOT - 4, b"\0")
    return body + struct.pack("<I", zlib.crc32(body))


def _unpack(raw: bytes, path: Path) -> Mark | None:
    if len(raw) != _SLOT or zlib.crc32(raw[:-4]) != struct.unpack("<I", raw[-4:])[0]:
        return None
    tag, version, state, *rest = _BODY.unpack_from(raw)
    if tag != _TAG:
        return None
    if version != _VERSION:
        raise StoreError(f"{path} is of version {version}, newer than this hemra reads: upgrade hemra")
    mark = Mark(state, *rest)
    # A right checksum over what no writer writes: not our bytes, whatever they are.
    if state > FINISHED or max(mark.counter, mark.segment, mark.offset, mark.last) > _MAX_NUMBER:
        return None
    return mark


def slots(directory: Path) -> list[Mark | None]:
    """Both slots as they are on disk; None for a slot that is not valid.

    Raises DamageError where the disk cannot read them: that says nothing of what they hold, so that no writer takes
    the anchor for lost and makes another.
    """
    found = _slots(directory / NAME)
    if None in found:
        found = _slots(directory / NAME)  # a slot may have been seen in the middle of being written
    return found


def _slots(path: Path) -> list[Mark | None]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return [None, None]
    except OSError as error:
        refuse_lost(path, error)
        raise
    found = [_unpack(raw[:_SLOT], path), _unpack(raw[_SLOT:], path)]
    return found if len(raw) == 2 * _SLOT else [*found, None]


def load(directory: Path) -> Mark | None:
    """The newest valid mark, or None when the anchor is missing or neither slot is valid. Raises as `slots` does."""
    valid = [mark for mark in slots(directory) if mark is not None]
    return max(valid, key=lambda mark: mark.counter, default=None)


class Anchor:
    """The writer's side. One per stream, held by the lock's owner."""

    def __init__(self, directory: Path, mark: Mark) -> None:
        self._path = directory / NAME
        # Both slots are made valid at each open, so that later a bad slot always means something.
        with replacing(self._path) as file:
            file.write(_pack(mark) + _pack(mark._replace(counter=mark.counter + 1)))
        self.mark = mark._replace(counter=mark.counter + 1)
        self._slot = 0
        self._synced_at = time.monotonic()
        self.synced = True
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)

    @classmethod
    def first(cls, directory: Path, stream: bytes) -> Anchor:
        """The anchor of a new, empty stream."""
        return cls(directory, Mark(OPEN, 0, stream, 0, 0, 0, NO_LINK))

    def advance(self, *, sync: bool = True, **changes: int | bytes) -> None:
        """Write the next mark; sync it with `sync`, or when that is due. OSError passes through: the mark that was
        synced last then still stands in the other slot."""
        mark = self.mark._replace(counter=self.mark.counter + 1, **changes)  # type: ignore[arg-type]
        crash_point("anchor.before_write")
        written = os.pwrite(self._fd, _pack(mark), _SLOT * self._slot)
        if written != _SLOT:
            raise OSError(
                errno.ENOSPC, f"only {written} of {_SLOT} bytes of the anchor could be written (disk full?)"
            )
        self.mark, self.synced = mark, False
        crash_point("anchor.after_write")
        if sync or time.monotonic() - self._synced_at >= SYNC_S:
            self.sync()

    def sync(self) -> None:
        """Sync what was written. OSError passes through."""
        if self.synced:
            return
        crash_point("anchor.before_sync")
        os.fdatasync(self._fd)
        self._slot = 1 - self._slot
        self._synced_at = time.monotonic()
        self.synced = True
        crash_point("anchor.after_sync")

    @property
    def closed(self) -> bool:
        """Whether it can no longer be advanced."""
        return self._fd < 0

    def close(self) -> None:
        """Close the file; the mark stays as it was last written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
