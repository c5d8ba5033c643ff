"""Files of a trial that lie in folders of this machine: read, written and listed without following any link.

A program of the trial decides what lies there. Names are therefore opened folder by folder, each without
following a symbolic link, and pipes, sockets and devices are never opened for reading.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from hemra.sandboxes.base import Entry, SandboxError, Snapshot

_KINDS = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def snapshot(folder: str) -> Snapshot:
    """Every path below `folder`. What vanishes or cannot be read while looking is left out."""
    found: Snapshot = {}
    for path, entry in _walk(folder, ""):
        try:
            found[path] = _entry(entry.stat(follow_symlinks=False))
        except OSError:
            continue
    return found


def _entry(status: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special")
    if kind == "folder":
        return Entry(kind, 0, ())
    mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Entry(kind, status.st_size, mark)


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [(folder, prefix)]
    while waiting:
        here, before = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            continue  # a folder made unreadable: itself it is listed by its parent
        for entry in entries:
            path = before + entry.name
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, path + "/"))


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or parts[0].startswith("/") or "\0" in path:
        raise SandboxError(f"{path!r} is no path below a folder of the trial")
    return parts


def open_beneath(folder: Path, path: str) -> int | None:
    """A regular file below `folder`, open for reading; None when it is none, is not there, cannot be read, or a
    link stands in its name. SandboxError for a name that leaves the folder."""
    *folders, name = _parts(path)
    here = -1
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in folders:
            above, here = here, os.open(part, _FOLDER, dir_fd=here)
            os.close(above)
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    except OSError:
        return None
    finally:
        if here >= 0:
            os.close(here)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    return fd


def read_beneath(folder: Path, path: str, limit: int) -> bytes | None:
    """At most `limit` bytes of a file, as `open_beneath`. SandboxError when it is larger."""
    fd = open_beneath(folder, path)
    if fd is None:
        return None
    with os.fdopen(fd, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise SandboxError(f"{path} is larger than {limit} bytes")
    return data


def write_beneath(folder: Path, path: str, content: bytes, *, executable: bool = False) -> None:
    """Write a file below `folder`, its folders made. A link at its own name is replaced, not followed.

    SandboxError when a folder of its name is a link or no folder, or when the system refuses.
    """
    *folders, name = _parts(path)
    mode = 0o755 if executable else 0o644
    here = -1
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in folders:
            with contextlib.suppress(FileExistsError):  # it is opened below, unless it is a link
                os.mkdir(part, 0o755, dir_fd=here)
            above, here = here, os.open(part, _FOLDER, dir_fd=here)
            os.close(above)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=here)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, mode, dir_fd=here), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
    except OSError as error:
        raise SandboxError(f"cannot write {path} of the trial: {error.strerror}") from error
    finally:
        if here >= 0:
            os.close(here)


def folder_bytes(folders: Sequence[Path]) -> int:
    """Bytes on disk of the files below some folders. Links are not followed; what cannot be read is left out."""
    total = 0
    queue = [os.fspath(folder) for folder in folders]
    while queue:
        try:
            entries = os.scandir(queue.pop())
        except OSError:
            continue  # removed meanwhile, or closed to us
        with entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue  # removed meanwhile
    return total


class FolderFiles:
    """`put`, `get` and `snapshot` of a sandbox whose folders are folders of this machine."""

    workspace: Path
    home: Path
    harness_dir: Path

    def inside(self, path: Path) -> str:
        """Where programs of the trial see it: at the same place, unless a sandbox says otherwise."""
        return str(path)

    def _place(self, path: str) -> tuple[Path, str]:
        """The folder of the trial that `path` is in, and the rest of it."""
        if not path.startswith("/"):
            return self.workspace, path
        for folder in (self.workspace, self.home, self.harness_dir):
            start = self.inside(folder).rstrip("/") + "/"
            if path.startswith(start):
                return folder, path[len(start) :]
        raise SandboxError(f"{path} is in no folder of the trial")

    async def put(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """See `hemra.sandboxes.base.Sandbox.put`."""
        folder, rest = self._place(path)
        await asyncio.to_thread(write_beneath, folder, rest, content, executable=executable)

    async def get(self, path: str, limit: int) -> bytes | None:
        """See `hemra.sandboxes.base.Sandbox.get`."""
        folder, rest = self._place(path)
        return await asyncio.to_thread(read_beneath, folder, rest, limit)

    async def snapshot(self) -> Snapshot:
        """See `hemra.sandboxes.base.Sandbox.snapshot`."""
        return await asyncio.to_thread(snapshot, str(self.workspace))
