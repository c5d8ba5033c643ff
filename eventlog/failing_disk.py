"""Reading a file on a disk that fails: it is named as damaged; for a repair, what cannot be read is zeros."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from eventlog.errors import DamageError

T = TypeVar("T")

#: What a disk, or the file system on it, answers that has lost what it is asked for.
_LOST = {
    errno.EIO,
    errno.EBADMSG,
    *(getattr(errno, name) for name in ("EUCLEAN", "EREMOTEIO") if hasattr(errno, name)),
}
#: Disks give up sectors of at most this size; more than it is never given up for one.
BLOCK = 4096


def refuse_lost(path: Path, error: OSError, offset: int = 0) -> None:
    """Raise DamageError where reading `path` failed because the disk has lost what is there.

    An error of reading an open file names no file by itself. Any other is no damage: the caller raises it as it is.
    """
    if error.errno in _LOST:
        raise DamageError(path, offset, f"it cannot be read: {error.strerror or error}") from error


def reading(path: Path, pieces: Iterator[T]) -> Iterator[T]:
    """What is read of `path` piece by piece. Raises DamageError naming it where the disk has lost it."""
    try:
        yield from pieces
    except OSError as error:
        refuse_lost(path, error)
        raise


class FailingDisk(io.RawIOBase):
    """A file whose unreadable blocks read as zeros. `unreadable` are their offsets."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._position = 0
        self._size = os.fstat(self._fd).st_size
        self.unreadable: set[int] = set()

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As every file's."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill `buffer`; OSError passes through when it is not that the disk cannot read."""
        data = self._read(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _read(self, offset: int, size: int) -> bytes:
        try:
            return os.pread(self._fd, size, offset)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
        # Once more, block by block, so that only what is bad is lost.
        start = offset - offset % BLOCK
        end = min(start + BLOCK, self._size)
        try:
            return os.pread(self._fd, min(size, end - offset), offset)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
        self.unreadable.add(start)
        return bytes(max(0, min(size, end - offset)))

    def fileno(self) -> int:
        """The file's descriptor."""
        return self._fd

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if not self.closed:
            os.close(self._fd)
        super().close()
