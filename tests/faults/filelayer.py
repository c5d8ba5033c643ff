"""A file layer that records: every change below one directory is made for real *and* written down.

`RecordingLayer(root)` replaces, while it is active, the calls by which Python code changes files: `os.open`,
`write`, `writev`, `pwrite`, `fsync`, `fdatasync`, `truncate`, `ftruncate`, `posix_fallocate`, `rename`, `replace`,
`link`, `unlink`, `remove`, `mkdir`, `rmdir`, `close`, and `open`/`io.open` (so `Path.open`, `os.fdopen` and
`tempfile` too). What is outside `root` passes through. The product's code is not touched and does not know.

The result is a `Trace`: what there was at the beginning, and the operations in their order. Files and folders are
told apart by a number of their own (an inode's), never by name, so that a rename is one change and a descriptor keeps
meaning its file. `check_complete` compares the real folder with what the trace makes of it: a change that came
by another way (mmap, a C library) fails there and does not go unseen.

It is not thread-safe: one thread runs at a time, and `gate`, called before each operation, may decide which.
Three more things it can do: `fault` may raise an error in place of an operation; `kill_after` ends the "process"
after so many operations (what it did stays in the page cache, its descriptors are closed); `sync_filter` may
drop or delay the recording of a sync, which is how the simulator itself is tested.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.trace import ROOT, Killed, Op, Short, Trace

#: Descriptors of such a file make every write durable at once.
_SYNCED_WRITES = os.O_DSYNC | os.O_SYNC


class _Raw(io.RawIOBase):
    """An open file whose writes go through the layer."""

    def __init__(self, layer: RecordingLayer, fd: int, name: Any, mode: str) -> None:
        self._layer, self._fd, self.name, self.mode = layer, fd, name, mode

    def readable(self) -> bool:
        return "r" in self.mode or "+" in self.mode

    def writable(self) -> bool:
        return any(letter in self.mode for letter in "wax+")

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def readinto(self, buffer: Any) -> int:
        data = self._layer.real["read"](self._fd, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        return self._layer.write(self._fd, bytes(data))

    def seek(self, offset: int, whence: int = 0) -> int:
        return os.lseek(self._fd, offset, whence)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        self._layer.ftruncate(self._fd, size)
        return size

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._layer.close(self._fd)


class RecordingLayer:
    """See the module. Use as a context manager; not nested."""

    def __init__(
        self,
        root: Path,
        *,
        fault: Callable[[str, str], None] | None = None,
        sync_filter: Callable[[RecordingLayer, Op], bool] | None = None,
        gate: Callable[[], None] | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.trace = Trace()
        self.fault = fault
        self.sync_filter = sync_filter
        self.gate = gate
        self.kill_after: int | None = None
        self.real: dict[str, Any] = {}
        self._names: dict[tuple[int, str], int] = {}
        self._fds: dict[int, tuple[int, int]] = {}
        self._next = 1
        self._made = 0
        self._dead = False
        self._scan(Path(self.root), ROOT)
        self.trace.names = dict(self._names)

    # -- what is there ----------------------------------------------------------------------------------

    def _scan(self, directory: Path, node: int) -> None:
        for path in sorted(directory.iterdir()):
            child, self._next = self._next, self._next + 1
            self._names[node, path.name] = child
            if path.is_dir():
                self.trace.folders.add(child)
                self._scan(path, child)
            else:
                self.trace.files[child] = path.read_bytes()

    def _place(self, path: Any, dir_fd: int | None = None) -> tuple[int, str] | None:
        """Folder and name of a path below the root; None for what is elsewhere."""
        text = os.fsdecode(path)
        if dir_fd is not None and not os.path.isabs(text):
            if dir_fd not in self._fds:
                return None
            at, parts = self._fds[dir_fd][0], [text]
        else:
            text = os.path.abspath(text)
            if text != self.root and not text.startswith(self.root + os.sep):
                return None
            at, parts = ROOT, [p for p in text[len(self.root) :].split(os.sep) if p]
        for part in parts[:-1]:
            at = self._names.get((at, part), -1)
        return at, parts[-1] if parts else ""

    def _node(self, place: tuple[int, str]) -> int | None:
        return ROOT if place == (ROOT, "") else self._names.get(place)

    # -- recording --------------------------------------------------------------------------------------

    def note(self, name: str, data: Any = None) -> None:
        """Put a driver's remark into the order of things."""
        self.trace.ops.append(Op("note", name=name, data=data))

    def changes(self) -> int:
        """How many operations were made, notes not counted, those that were to go unrecorded too."""
        return self._made

    def _record(self, op: Op) -> None:
        self.trace.ops.append(op._replace(site=_site()))
        self._count()

    def _count(self) -> None:
        self._made += 1
        if self.kill_after is not None and self._made >= self.kill_after:
            self._dead = True

    def _enter(self, kind: str, what: str = "") -> None:
        if self.gate is not None:
            self.gate()
        if self._dead:
            raise Killed
        if self.fault is not None:
            self.fault(kind, what)

    def die(self) -> None:
        """The process ends here: it makes no further operation."""
        self._dead = True

    def revive(self) -> None:
        """Another process begins: what the dead one had open is closed."""
        for fd in list(self._fds):
            with contextlib.suppress(OSError):
                self.real["close"](fd)
        self._fds.clear()
        self._dead, self.kill_after = False, None

    # -- the calls --------------------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """`os.open`."""
        place = None if isinstance(path, int) else self._place(path, dir_fd)
        if place is None:
            fd: int = self.real["open"](path, flags, mode, dir_fd=dir_fd)
            self._fds.pop(fd, None)
            return fd
        self._enter("open", place[1])
        known = self._node(place)
        fd = self.real["open"](path, flags, mode, dir_fd=dir_fd)
        if known is None:
            known, self._next = self._next, self._next + 1
            self._names[place] = known
            self._record(Op("create", known, data="file", parent=place[0], name=place[1]))
        elif flags & os.O_TRUNC and os.fstat(fd).st_size == 0:
            self._record(Op("truncate", known))
        self._fds[fd] = known, flags
        return fd

    def close(self, fd: int) -> None:
        """`os.close`; a dead process's descriptors are closed by the kernel."""
        self._fds.pop(fd, None)
        self.real["close"](fd)

    def _write(self, fd: int, data: bytes, offset: int | None) -> int:
        node, flags = self._fds[fd]
        if offset is None:
            append = flags & os.O_APPEND
            offset = os.fstat(fd).st_size if append else os.lseek(fd, 0, os.SEEK_CUR)
            done: int = self.real["write"](fd, data)
        else:
            done = self.real["pwrite"](fd, data, offset)
        self._record(Op("write", node, offset, data[:done]))
        if flags & _SYNCED_WRITES:
            self._record(Op("sync", node))
        return done

    def write(self, fd: int, data: Any) -> int:
        """`os.write`."""
        if fd not in self._fds:
            return int(self.real["write"](fd, data))
        allowed = self._short("write", bytes(data))
        return self._write(fd, allowed, None)

    def writev(self, fd: int, buffers: Any) -> int:
        """`os.writev`, as one write."""
        if fd not in self._fds:
            return int(self.real["writev"](fd, buffers))
        return self.write(fd, b"".join(bytes(b) for b in buffers))

    def pwrite(self, fd: int, data: Any, offset: int) -> int:
        """`os.pwrite`."""
        if fd not in self._fds:
            return int(self.real["pwrite"](fd, data, offset))
        allowed = self._short("pwrite", bytes(data))
        return self._write(fd, allowed, offset)

    def _short(self, kind: str, data: bytes) -> bytes:
        """All of `data`, or the part of it that a fault lets through: it raises `Short` with a number of bytes."""
        try:
            self._enter(kind)
        except Short as short:
            return data[: min(short.size, len(data))]
        return data

    def sync(self, fd: int) -> None:
        """`os.fsync` and `os.fdatasync`. Nothing is really synced: only the record counts."""
        if fd not in self._fds:
            return
        node = self._fds[fd][0]
        try:
            self._enter("sync", "")
        except OSError:
            self._record(Op("sync_failed", node))
            raise
        op = Op("sync", node, site=_site())
        if self.sync_filter is None or self.sync_filter(self, op):
            self.trace.ops.append(op)
        self._count()

    def ftruncate(self, fd: int, size: int) -> None:
        """`os.ftruncate`."""
        if fd not in self._fds:
            self.real["ftruncate"](fd, size)
            return
        self._enter("truncate")
        self.real["ftruncate"](fd, size)
        self._record(Op("truncate", self._fds[fd][0], size))

    def truncate(self, path: Any, size: int) -> None:
        """`os.truncate`."""
        fd = self.open(path, os.O_WRONLY)
        try:
            self.ftruncate(fd, size)
        finally:
            self.close(fd)

    def fallocate(self, fd: int, offset: int, size: int) -> None:
        """`os.posix_fallocate`: the file grows, its new bytes are zero."""
        if fd not in self._fds or os.fstat(fd).st_size < offset + size:
            self.ftruncate(fd, offset + size)

    def rename(
        self, source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """`os.rename` and `os.replace`."""
        one, two = self._place(source, src_dir_fd), self._place(target, dst_dir_fd)
        assert (one is None) == (two is None), f"{source} -> {target} crosses the edge of what is recorded"
        if one is not None:
            self._enter("rename", one[1])
        self.real["replace"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        if one is not None and two is not None:
            node = self._names[two] = self._names.pop(one)
            self._record(Op("rename", node, parent=one[0], name=one[1], parent2=two[0], name2=two[1]))

    def link(self, source: Any, target: Any, **more: Any) -> None:
        """`os.link`."""
        one, two = self._place(source), self._place(target)
        if two is not None:
            self._enter("link")
        self.real["link"](source, target, **more)
        if one is not None and two is not None:
            self._names[two] = self._names[one]
            self._record(Op("create", self._names[one], data="link", parent=two[0], name=two[1]))

    def _gone(self, call: str, path: Any, dir_fd: int | None) -> None:
        place = self._place(path, dir_fd)
        if place is not None:
            self._enter("unlink", place[1])
        self.real[call](path, dir_fd=dir_fd)
        if place is not None:
            self._record(Op("unlink", self._names.pop(place), parent=place[0], name=place[1]))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """`os.unlink` and `os.remove`."""
        self._gone("unlink", path, dir_fd)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """`os.rmdir`."""
        self._gone("rmdir", path, dir_fd)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """`os.mkdir`."""
        place = self._place(path, dir_fd)
        if place is not None:
            self._enter("mkdir", place[1])
        self.real["mkdir"](path, mode, dir_fd=dir_fd)
        if place is not None:
            node, self._next = self._next, self._next + 1
            self._names[place] = node
            self._record(Op("create", node, data="folder", parent=place[0], name=place[1]))

    def sendfile(self, out: int, *arguments: Any, **more: Any) -> int:
        """`os.sendfile`: refused for recorded files, so that copying falls back to plain writes."""
        if out in self._fds:
            raise OSError(errno.ENOTSOCK, "the recording layer takes plain writes only")
        return int(self.real["sendfile"](out, *arguments, **more))

    def open_file(self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
                  errors: str | None = None, newline: str | None = None, closefd: bool = True,
                  opener: Any = None) -> Any:  # fmt: skip
        """`open` and `io.open`."""
        writes = any(letter in mode for letter in "wax+")
        ours = file in self._fds if isinstance(file, int) else self._place(file) is not None
        if not ours or not writes:
            if ours:
                self._enter("open", str(file))
            return self.real["io_open"](file, mode, buffering, encoding, errors, newline, closefd, opener)
        assert closefd
        assert opener is None
        flags = {"r": 0, "w": os.O_CREAT | os.O_TRUNC, "a": os.O_CREAT | os.O_APPEND,
                 "x": os.O_CREAT | os.O_EXCL}[mode.strip("bt+")]  # fmt: skip
        flags |= os.O_RDWR if "+" in mode else os.O_WRONLY
        fd = file if isinstance(file, int) else self.open(file, flags | os.O_CLOEXEC, 0o666)
        raw = _Raw(self, fd, file, mode)
        if buffering == 0:
            return raw
        size = io.DEFAULT_BUFFER_SIZE if buffering < 2 else buffering
        buffered: Any = io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    # -- switching it on --------------------------------------------------------------------------------

    def __enter__(self) -> RecordingLayer:
        ours = {"open": self.open, "close": self.close, "write": self.write, "writev": self.writev,
                "pwrite": self.pwrite, "fsync": self.sync, "fdatasync": self.sync, "ftruncate": self.ftruncate,
                "truncate": self.truncate, "posix_fallocate": self.fallocate, "rename": self.rename,
                "replace": self.rename, "link": self.link, "unlink": self.unlink, "remove": self.unlink,
                "mkdir": self.mkdir, "rmdir": self.rmdir, "sendfile": self.sendfile}  # fmt: skip
        self.real = {name: getattr(os, name) for name in (*ours, "read")} | {"io_open": io.open}
        for name, function in ours.items():
            setattr(os, name, function)
        io.open = builtins.open = self.open_file  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self.real.items():
            if name != "io_open":
                setattr(os, name, function)
        io.open = builtins.open = self.real["io_open"]
        for fd in self._fds:
            with contextlib.suppress(OSError):
                os.close(fd)


def _site() -> str:
    """Which functions of the log made this call: the innermost one and who called that."""
    found: list[str] = []
    frame: Any = sys._getframe(2)
    while frame is not None and len(found) < 3:
        path = Path(frame.f_code.co_filename)
        if path.parent.name == "eventlog":
            name = f"{path.stem}.{frame.f_code.co_name}"
            if not found or found[-1] != name:
                found.append(name)
        frame = frame.f_back
    return " < ".join(found)
