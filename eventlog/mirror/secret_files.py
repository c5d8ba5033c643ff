"""Files that only their owner may read: written so from the first byte, refused when others can read them."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import tempfile
from pathlib import Path

from eventlog.disk import fsync_dir, make_dir
from eventlog.mirror.errors import MirrorError

#: No secret of ours is larger; a larger file is another one, named by mistake.
_MAX_BYTES = 64 * 1024


class Exposed(MirrorError):
    """A secret file that others can read, or that belongs to somebody else."""


def read_private(path: Path) -> bytes:
    """The content of a secret file. Raises Exposed; FileNotFoundError and other OSErrors pass through."""
    # What is checked and what is read is one open file, whatever the name means a moment later.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Exposed(f"{path} is no file")
        if found.st_mode & 0o077:
            raise Exposed(
                f"{path} can be read by others (mode {stat.S_IMODE(found.st_mode):04o}): "
                f"chmod 600 {shlex.quote(str(path))}"
            )
        if found.st_uid not in (os.getuid(), 0):
            raise Exposed(f"{path} belongs to another user ({found.st_uid})")
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise Exposed(f"{path} is too large to be what is meant")
    return content


def write_private(path: Path, content: bytes) -> None:
    """Create a secret file whole, mode 0600, unless it exists: whoever comes second uses what the first made."""
    make_dir(path.parent.parent)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
        fsync_dir(path.parent)
    finally:
        os.unlink(name)
