"""One writer a stream: a lock that dies with its holder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from eventlog.errors import StreamBusy
from eventlog.mirror.errors import NotOurs
from eventlog.mirror.note import is_copy, why_not_ours

NAME = "lock"
_PROBE_S = 0.01


class Lock:
    """An exclusive flock on `<directory>/lock`. The kernel drops it when the process ends, however it ends."""

    def __init__(self, path: Path, wait_s: float = 0.5, *, copying: bool = False) -> None:
        """Take the lock, waiting up to `wait_s` seconds. Raises StreamBusy naming the holder.

        A short wait is needed even where nobody holds it for long: `is_held` takes it for an instant. The lock
        of a stream that is the copy of another machine's (see `mirror.note`) is given only to who is `copying`; others
        get NotOurs.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = os.pread(self._fd, 64, 0).decode("ascii", "replace").strip()
                    os.close(self._fd)
                    raise StreamBusy(
                        f"{path.parent} is being written by process {holder or 'unknown'}"
                    ) from None
                time.sleep(_PROBE_S)
        if not copying and path.name == NAME and is_copy(path.parent):
            self.release()
            raise NotOurs(why_not_ours(path.parent))
        with contextlib.suppress(OSError):
            # Only a help for people: on a full disk the lock holds without it.
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock up; safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_held(path: Path) -> bool:
    """Whether some process holds the lock now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> int | None:
    """Process id that the holder wrote into the lock file; None when nobody holds it or it is unreadable."""
    if not is_held(path):
        return None
    try:
        return int(path.read_text("ascii").strip())
    except (OSError, ValueError):
        return None
