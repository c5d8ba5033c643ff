"""Files that are gathered aside until they are whole, and when what is in them counts as durable.

A sync that failed once is never asked for again on the same file: the kernel may have dropped what was to be written,
and calls the second one good. So a file whose sync failed is removed, and one that an earlier process left whole, which
may have died between the failure and that, is copied into a new file first.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

PART = ".part"
#: As a segment of a run of this store has it, less what the umask takes.
_MODE = 0o644


def opened(path: Path) -> BinaryIO:
    """The file aside, to add to its end; made where there is none."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE), "r+b")


def sync(file: BinaryIO, path: Path) -> None:
    """Make all of the open file at `path` durable. OSError passes through, and the file is gone then."""
    try:
        file.flush()
        os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def copied_anew(path: Path) -> None:
    """Put a file that was left whole into a new one, which nobody has tried to sync yet."""
    fd, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as copy, path.open("rb") as file:
            while piece := file.read(1 << 20):
                copy.write(piece)
        os.chmod(name, path.stat().st_mode & 0o777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
