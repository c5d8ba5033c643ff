"""Keeping writers away from a stream while it is read in several passes, without writing anything."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from eventlog.errors import StreamBusy
from eventlog.lock import NAME as LOCK


@contextlib.contextmanager
def undisturbed(directory: Path) -> Iterator[None]:
    """Share the stream's lock with other readers; works in a store that cannot be written.

    Raises StreamBusy while a writer holds it. Where there is no lock file, there was never a writer.
    """
    try:
        fd = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StreamBusy(
                f"{directory} is being written: try again when the run has ended (`hemra cancel` ends it)"
            ) from None
        yield
    finally:
        os.close(fd)
