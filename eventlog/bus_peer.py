"""The other end of the bus: how producers and followers talk to a recorder's nng sockets.

nng's wire protocol (SP over IPC) is small: on connecting, each side sends `00 'S' 'P' 00`, its protocol
(u16) and u16 0; then each message is `01`, u64 length, body; a REQ message begins with a u32 id whose top
bit is set and which the answer repeats. All big-endian. Speaking it over a plain socket costs a producer
two system calls an append and no thread; nng's own REQ socket costs six thread switches and twelve threads
a process, which is what limited the rate of one-event appends. A wait also ends at once on Ctrl-C. Any nng
peer can take either place: the tests put pynng's own REQ, REP, PUB and SUB at the other end.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from pathlib import Path

from eventlog.bus import GREETING, MAX_REQUEST, PUB, REP, REQ, SP, SUB

_FRAME = struct.Struct(">BQ")
_REQUEST = struct.Struct(">BQI")
_ID_FLAG = 0x80000000
#: No answer is longer; what claims to be is not a recorder.
_MAX_ANSWER = 1024 * 1024
#: (seconds, microseconds): how often a wait for an answer looks at its deadline.
_LOOK = (0, 200_000)
#: A recorder whose socket takes nothing for this long is hung: connect again.
_STUCK = (5, 0)
#: How soon a wait notices that it is to stop.
_SLICE_S = 0.1


class Unreachable(Exception):
    """Nobody answers at the address, or the connection broke in mid-request (internal: callers try again)."""


def _connect(path: Path, ours: int, theirs: int, deadline: float) -> socket.socket:
    """A greeted connection. Raises Unreachable."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        left = max(0.001, deadline - time.monotonic())
        # A recorder that many connect to at once has a full queue for a moment. Only a blocking connect waits for that.
        timeval = struct.pack("@ll", int(left), int(left % 1 * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
        connection.connect(str(path))
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        connection.sendall(GREETING.pack(SP, ours, 0))
        greeting = b""
        while len(greeting) < GREETING.size:
            piece = connection.recv(GREETING.size - len(greeting))
            if not piece:
                raise Unreachable(f"{path} closed the connection")
            greeting += piece
        if GREETING.unpack(greeting) != (SP, theirs, 0):
            raise Unreachable(f"{path} is no recorder's socket")
    except OSError as error:
        connection.close()
        raise Unreachable(f"{path}: {error.strerror or error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


class Requester:
    """One connection that asks and gets answers (not thread-safe)."""

    def __init__(self, path: Path, deadline: float) -> None:
        """Connect by `deadline` (monotonic seconds). Raises Unreachable."""
        self._path = path
        self._socket = _connect(path, REQ, REP, deadline)
        # The kernel's own timeout costs no poll() before each call, as Python's would.
        self._socket.setblocking(True)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", *_LOOK))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", *_STUCK))
        # What is sent during a commit waits here and goes into the next one together; the kernel may allow less.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST)
        self._id = 0
        self._awaited: set[int] = set()
        self._early: dict[int, bytes] = {}
        self._buffer = bytearray()

    def request(self, body: bytes, deadline: float, awake_until: float = 0.0) -> bytes:
        """Send `body` and return the answer; before `awake_until` (monotonic seconds) it is awaited without sleeping.
        Raises Unreachable; the connection is closed then.

        Unreachable does not say that nothing was done: the request may be sent again only because the
        recorder recognises it. ValueError for a body larger than MAX_REQUEST.
        """
        number = self.send(body)
        while time.monotonic() < awake_until:
            if (answer := self.poll(number)) is not None:
                return answer
            os.sched_yield()
        return self.receive(number, deadline)

    def send(self, body: bytes) -> int:
        """Send `body` without awaiting its answer; the number by which `receive` finds that. Raises as `request`."""
        if len(body) + 4 > MAX_REQUEST:
            raise ValueError(f"a request of {len(body)} bytes is too large for the bus")
        self._id = (self._id + 1) & 0x7FFFFFFF
        number = self._id | _ID_FLAG
        try:
            self._socket.sendall(_REQUEST.pack(1, len(body) + 4, number) + body)
        except OSError as error:
            self.close()
            raise Unreachable(f"{self._path}: {error.strerror or error}") from error
        except BaseException:
            # An interrupt in mid-frame leaves the connection where nobody knows: never use it again.
            self.close()
            raise
        self._awaited.add(number)
        return number

    def receive(self, number: int, deadline: float) -> bytes:
        """The answer to the request `number`; answers may come in any order. Raises as `request`."""
        while (answer := self._answer(number, 0)) is None:
            if time.monotonic() >= deadline:
                self.close()
                raise Unreachable(f"no answer from {self._path} in time")
        return answer

    def poll(self, number: int) -> bytes | None:
        """The answer to the request `number` if it is there, without waiting. Raises as `request`."""
        return self._answer(number, socket.MSG_DONTWAIT)

    def fileno(self) -> int:
        """Descriptor that is readable when an answer comes, or the connection is gone."""
        return self._socket.fileno()

    def _answer(self, number: int, flags: int) -> bytes | None:
        """The answer to the request `number`; None when nothing came for _LOOK (with MSG_DONTWAIT: at once)."""
        try:
            while number not in self._early:
                if self._sort_out():
                    continue
                try:
                    piece = self._socket.recv(65536, flags)
                except BlockingIOError:
                    return None
                if not piece:
                    raise Unreachable(f"{self._path} closed the connection")
                self._buffer += piece
            self._awaited.discard(number)
            return self._early.pop(number)
        except OSError as error:
            self.close()
            raise Unreachable(f"{self._path}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def _sort_out(self) -> bool:
        """Take a whole message out of the buffer; False when none is there."""
        buffer = self._buffer
        if len(buffer) < _FRAME.size:
            return False
        kind, size = _FRAME.unpack_from(buffer)
        if kind != 1 or size > _MAX_ANSWER:
            raise Unreachable(f"{self._path} sent what is no message")
        end = _FRAME.size + size
        if len(buffer) < end:
            return False
        number = int.from_bytes(buffer[_FRAME.size : _FRAME.size + 4], "big") if size >= 4 else 0
        if number in self._awaited:
            self._early[number] = bytes(buffer[_FRAME.size + 4 : end])
        del buffer[:end]
        return True

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        with contextlib.suppress(OSError):
            # Whoever watches a duplicate of the descriptor must see the end too.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Waker:
    """A subscription to "there is more". What there is, the segments say."""

    def __init__(self, path: Path, *, timeout_s: float = 1.0) -> None:
        """Connect. Raises Unreachable when no recorder is alive."""
        self._path = path
        self._socket = _connect(path, SUB, PUB, time.monotonic() + timeout_s)
        self._socket.setblocking(False)

    def wait(self, timeout_s: float, stop: threading.Event | None = None) -> bool:
        """Wait for a wake-up; False when `timeout_s` passed or `stop` was set. Raises Unreachable."""
        deadline = time.monotonic() + timeout_s
        while stop is None or not stop.is_set():
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._socket], [], [], max(0.0, min(left, _SLICE_S)))
            if ready:
                self._drain()
                return True
            if left <= 0:
                return False
        return False

    def _drain(self) -> None:
        """Throw away what was said: one wake-up and a thousand mean the same."""
        try:
            with contextlib.suppress(BlockingIOError):
                while piece := self._socket.recv(65536):
                    if len(piece) < 65536:
                        return
                raise Unreachable(f"{self._path} closed the connection")
        except OSError as error:
            raise Unreachable(f"{self._path}: {error.strerror or error}") from error

    def close(self) -> None:
        """End the subscription; safe to call twice."""
        self._socket.close()
