"""The few file operations that durability rests on, each in one place.

A rename is durable only after the file was synced before it and the directory after it; a new file or
directory exists after a crash only when its parent was synced. What another process made is no exception: it may
have died before its sync, so that something exists says nothing of whether it will after a power cut.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from eventlog import clock
from eventlog.crashpoints import crash_point


def fsync_dir(path: Path) -> None:
    """Make creations, renames and removals inside `path` survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


#: Directories whose names this process knows to be durable, each with its device and inode.
_durable: set[tuple[Path, int, int]] = set()


def make_dir(path: Path) -> None:
    """Create `path` and its missing parents durably.

    The name of one that is there already is synced too, once in a process: whoever made it may have died first.
    Its parents were durable before it was made.
    """
    made = not path.is_dir()
    if made:
        make_dir(path.parent)
        path.mkdir(exist_ok=True)
    found = path.stat()
    known = path, found.st_dev, found.st_ino
    if made or known not in _durable:
        try:
            fsync_dir(path.parent)
        except PermissionError:
            if made:
                raise
            # A folder that was given to us, in one that we may not open: not ours to sync.
        _durable.add(known)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An OSError of the body names the file that was meant, which is the one that somebody knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def new_temp(path: Path, mode: int) -> tuple[int, Path]:
    """A new file beside `path`, opened for writing. The kernel takes the umask off its mode: nobody else can without
    changing it for all threads."""
    while True:
        temp = path.with_name(f".{path.name}.{os.urandom(5).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            return os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), temp


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Write a whole new content for `path`: temp file, fsync, rename, fsync of the directory.

    The file has `mode` without what the umask forbids. On any error the temp file is removed and `path` is as it was.
    An OSError of making, syncing or renaming it names `path`.
    """
    with _naming(path):
        fd, temp = new_temp(path, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            with _naming(path):
                file.flush()
                crash_point("replace.before_sync")
                os.fsync(file.fileno())
        crash_point("replace.before_rename")
        with _naming(path):
            os.replace(temp, path)
        crash_point("replace.after_rename")
        fsync_dir(path.parent)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def remove_temps(directory: Path, *, older_than_s: float = 0.0) -> int:
    """Remove temp files that dead processes left, as `replacing` does; how many.

    Where others may be writing theirs now, `older_than_s` spares those written to within that many seconds.
    """
    count, newest = 0, clock.wall_ns() - int(older_than_s * 1e9)
    for temp in directory.glob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if temp.lstat().st_mtime_ns <= newest or not older_than_s:
                temp.unlink()
                count += 1
    return count
