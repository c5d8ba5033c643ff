"""A room: namespaces of a trial's own, made by bubblewrap, with a warden as their process 1.

The room is there from `open` to `close`, and whatever runs in it sees the others. When its process 1 ends, the
kernel ends everything in it; process 1 ends with bubblewrap, and bubblewrap with this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hemra.sandboxes.base import Endpoint, ExecSpec, SandboxError
from hemra.sandboxes.child import Child
from hemra.sandboxes.compiled import empty_in_memory, file_in_memory, in_memory
from hemra.sandboxes.needs import interpreter
from hemra.sandboxes.pipes import open_terminal, sized_terminal
from hemra.sandboxes.starter import LAUNCHER, Held, Streams
from hemra.telemetry.process_tree import children

T = TypeVar("T")

WARDEN = Path(__file__).with_name("warden.py")
_READY_SECONDS = 30.0
_END_SECONDS = 10.0
_MOST_FDS = 64
_ENVIRONMENT = {"PATH": os.defpath, "LANG": "C.UTF-8"}


class HeldInRoom:
    """A launcher in a room. See `hemra.sandboxes.starter.Held`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def number_here(self, pid: int) -> int:
        """The pid of the program as this process sees it; the launcher's own when the program is gone already."""
        return (_child_numbered(self.pid, pid) if self.pid else None) or self.pid

    def send(self, number: int) -> None:
        """See `Held.send`."""
        if self.pid and not self.ended.done():
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)

    async def wait(self) -> int:
        """See `Held.wait`; asked when the launcher has nothing more to do. Raises SandboxError."""
        return os.waitstatus_to_exitcode(await _answered(asyncio.shield(self.ended)))


def _child_numbered(parent: int, inside: int) -> int | None:
    """The child of `parent` that has the pid `inside` in its own namespace."""
    for pid in children(parent):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines():
                if line.startswith("NSpid:") and line.split()[-1] == str(inside):
                    return pid
    return None


async def _answered(answer: asyncio.Future[T]) -> T:
    """What the warden says, which takes it no time. Raises SandboxError when it does not: no trial may stand still
    because something stopped it."""
    try:
        return await asyncio.wait_for(answer, _END_SECONDS)
    except TimeoutError:
        raise SandboxError("process 1 of the trial's namespaces does not answer") from None


class Room:
    """One room. `arguments` are bubblewrap's for what is seen in it; `ports` are where it listens, and
    `listening` are the sockets that do, in the same order."""

    def __init__(self, bwrap: str, arguments: Sequence[str], ports: Sequence[Endpoint]) -> None:
        self._bwrap = bwrap
        self._arguments = arguments
        self._ports = ports
        self._process: Child | None = None
        self._socket: socket.socket | None = None
        self._errors = -1
        self._first = 0
        self._numbers = 0
        self._starting: dict[str, asyncio.Future[HeldInRoom]] = {}
        self._held: dict[str, HeldInRoom] = {}
        self._killed: list[asyncio.Future[int]] = []
        self._terminals: dict[str, asyncio.Future[list[int]]] = {}
        self._ready: asyncio.Future[None] | None = None
        self.listening: list[socket.socket] = []
        self.stands = True

    async def open(self) -> None:
        """Make it. Raises SandboxError, after which nothing is left."""
        self._ready = asyncio.get_running_loop().create_future()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        info_read, info_write = os.pipe()
        try:
            with theirs:
                self._socket = ours
                ours.setblocking(False)
                fds = (theirs.fileno(), info_write, _needed(WARDEN), _needed(LAUNCHER))
                self._errors = empty_in_memory("hemra-errors")
                started = subprocess.Popen(
                    self._command(*fds), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=self._errors, env=_ENVIRONMENT, cwd="/", pass_fds=fds, start_new_session=True,
                )  # fmt: skip
                self._process = Child(started)
                os.close(info_write)
                info_write = -1
            asyncio.get_running_loop().add_reader(ours.fileno(), self._receive)
            await self._until_ready()
            self._first = json.loads(os.read(info_read, 65536))["child-pid"]
        except BaseException as error:
            await self.close()
            if isinstance(error, OSError | ValueError):
                raise SandboxError(f"bubblewrap could not be started: {error}") from error
            raise
        finally:
            os.close(info_read)
            if info_write >= 0:
                os.close(info_write)

    def _command(self, fd: int, info: int, warden: int, launcher: int) -> list[str]:
        return [
            *(self._bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--hostname", "hemra"),
            *("--cap-drop", "ALL", "--info-fd", str(info)),
            *self._arguments,
            *("--", interpreter(), "-I", "-S", "-B", f"/proc/self/fd/{warden}", WARDEN.name),
            *(str(fd), str(launcher), str(warden)),
            *(f"{place.port}@{place.host}" for place in self._ports),
        ]

    async def _until_ready(self) -> None:
        assert self._process is not None
        assert self._ready is not None
        gone = asyncio.ensure_future(self._process.wait())
        either: set[asyncio.Future[Any]] = {self._ready, gone}
        try:
            await asyncio.wait(either, timeout=_READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if self._ready.done():
            return self._ready.result()
        said = os.pread(self._errors, 4096, 0).decode("utf-8", "replace").strip().replace("\n", "; ")
        raise SandboxError(f"bubblewrap could not make the room: {said or 'it does not answer'}")

    def _receive(self) -> None:
        """Take what the warden says."""
        assert self._socket is not None
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(self._socket, 65536, _MOST_FDS)
            except BlockingIOError:
                return
            except OSError:
                data, fds = b"", []
            if not data:
                self._lost()
                return
            self._take(data.decode("utf-8", "replace").split(" "), fds)

    def _take(self, words: list[str], fds: list[int]) -> None:
        if words[0] == "ready":
            self.listening = [socket.socket(fileno=fd) for fd in fds]
            _resolve(self._ready, None)
        elif words[0] == "started" and (waiting := self._starting.pop(words[1], None)) is not None:
            # Its end may be the next word: whoever waits for the start has not looked yet.
            held = HeldInRoom(_child_numbered(self._first, int(words[2])) or 0)
            self._held[words[1]] = held
            _resolve(waiting, held)
        elif words[0] == "failed" and words[1] == "0":
            _fail(self._ready, SandboxError(f"the room cannot listen: {' '.join(words[3:])}"))
        elif words[0] == "failed" and (waiting := self._starting.pop(words[1], None)) is not None:
            number, _, folder = words[2].partition("@")
            _fail(waiting, OSError(int(number), " ".join(words[3:]), bytes.fromhex(folder).decode() or None))
        elif words[0] == "ended" and words[1] in self._held:
            _resolve(self._held.pop(words[1]).ended, int(words[2]))
        elif words[0] == "killed" and self._killed:
            _resolve(self._killed.pop(0), int(words[1]))
        elif words[0] == "terminal" and (asked := self._terminals.pop(words[1], None)) is not None:
            _resolve(asked, fds)

    def _lost(self) -> None:
        """The warden is gone, and everything in the room with it."""
        self.stands = False
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        lost = SandboxError("the trial's namespaces are gone: their process 1 was killed from outside")
        for start in self._starting.values():
            _fail(start, lost)
        for kill in self._killed:
            _fail(kill, lost)
        for terminal in self._terminals.values():
            _fail(terminal, lost)
        for held in self._held.values():
            _resolve(held.ended, signal.SIGKILL)
        self._starting, self._held, self._killed = {}, {}, []

    async def start(self, settings: str, spec: ExecSpec, streams: Streams, fds: Mapping[str, int]) -> Held:
        """Start a launcher in the room. See `hemra.sandboxes.starter.Starter.start`."""
        self._numbers += 1
        number = str(self._numbers)
        payload = file_in_memory("hemra-run", _payload(settings, spec))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            theirs = [fd if fd >= 0 else null for fd in (streams.stdin, streams.stdout, streams.stderr)]
            waiting: asyncio.Future[HeldInRoom] = asyncio.get_running_loop().create_future()
            self._starting[number] = waiting
            self._send(f"run {number} {','.join(fds)}", [payload, *theirs, *fds.values()])
        finally:
            os.close(payload)
            os.close(null)
        return await _answered(asyncio.shield(waiting))

    async def terminal(self, columns: int, rows: int) -> tuple[int, int]:
        """A terminal of the room's own. See `hemra.sandboxes.starter.Starter.terminal`."""
        self._numbers += 1
        asked: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._terminals[str(self._numbers)] = asked
        self._send(f"terminal {self._numbers}")
        pair = await _answered(asked)
        if len(pair) != 2:
            return open_terminal(columns, rows)
        return sized_terminal(pair[0], pair[1], columns, rows)

    def _send(self, text: str, fds: Sequence[int] = ()) -> None:
        if self._socket is None:
            raise SandboxError("the trial's namespaces are gone")
        try:
            socket.send_fds(self._socket, [text.encode("ascii")], list(fds))
        except OSError as error:
            raise SandboxError(f"the trial's namespaces are gone: {error.strerror}") from error

    async def kill_all(self) -> int:
        """End everything in the room but its warden. Returns how many processes that were, zombies included."""
        if self._socket is None or self._process is None or self._process.over:
            return 0
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._killed.append(waiting)
        try:
            self._send("kill")
            return await asyncio.wait_for(waiting, _END_SECONDS)
        except (SandboxError, TimeoutError):
            return 0  # it is gone, or `close` ends it with its process 1

    async def close(self) -> None:
        """End everything in it; no error when that was done."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None
        for listener in self.listening:
            listener.close()
        self.listening = []
        if self._process is not None:
            try:
                await asyncio.wait_for(self._process.wait(), _END_SECONDS)
            except TimeoutError:
                self._process.send(signal.SIGKILL)
                await self._process.wait()
        if self._first:
            # Where bubblewrap was killed, its child has become one of this process.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._first, os.WNOHANG)
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1
        for held in self._held.values():
            _resolve(held.ended, signal.SIGKILL)

    def kill_now(self) -> None:
        """End bubblewrap, and with it the room; safe in a signal handler."""
        if self._process is not None and not self._process.over:
            if self._first:
                with contextlib.suppress(OSError):
                    os.kill(self._first, signal.SIGKILL)
            self._process.send(signal.SIGKILL)


def _needed(program: Path) -> int:
    fd = in_memory(program)
    if fd is None:
        raise OSError(errno.ENOSYS, "this kernel makes no files in memory")
    return fd


def _payload(settings: str, spec: ExecSpec) -> bytes:
    """What the warden is told of a program. ValueError for a NUL in a word."""
    words = [os.fsencode(word) for word in spec.argv]
    pairs = [os.fsencode(f"{name}={value}") for name, value in spec.env.items()]
    parts = [os.fsencode(spec.cwd), str(len(words)).encode(), settings.encode(), *words, *pairs]
    if any(b"\0" in part for part in parts):
        raise ValueError("embedded null byte")
    return b"\0".join(parts)


def _resolve(future: asyncio.Future[T] | None, value: T) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any] | None, error: Exception) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
