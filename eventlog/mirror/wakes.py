"""Waking those who follow a copy on this machine, as a recorder wakes those who follow its stream.

The same socket in the same place with the same few bytes (nng's PUB over IPC, see `eventlog.bus_peer`), so
that a follower need not know whether events are recorded or copied. Nobody relies on a wake-up: what there is,
the segments say, so every failure here is silent and costs a follower some milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading

from eventlog.bus import BusError, address_of
from eventlog.store import Store

_GREETING = struct.Struct(">4sHH")
_PUB, _SUB = 0x20, 0x21
_MORE = struct.pack(">BQ", 1, 1) + b"+"
_GREET_S = 1.0
#: More followers than that look by themselves.
_MOST = 64


class Wakes:
    """The socket of one copy. Made by who holds the stream's lock, so a socket that lies there is a dead one's."""

    def __init__(self, store: Store, stream: str) -> None:
        self._listeners: list[socket.socket] = []
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        with contextlib.suppress(BusError, OSError):
            self._path = address_of(store.path, stream).wakes
            self._path.unlink(missing_ok=True)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listening.bind(os.fspath(self._path))
                listening.listen(_MOST)
            except BaseException:
                listening.close()
                raise
            self._socket = listening
            threading.Thread(target=self._greet, args=(listening,), name="wakes", daemon=True).start()

    def _greet(self, listening: socket.socket) -> None:
        """Take in who wants to be woken, until the socket is closed."""
        while True:
            try:
                follower, _ = listening.accept()
            except OSError:
                return
            try:
                follower.settimeout(_GREET_S)
                follower.sendall(_GREETING.pack(b"\0SP\0", _PUB, 0))
                if follower.recv(_GREETING.size, socket.MSG_WAITALL) != _GREETING.pack(b"\0SP\0", _SUB, 0):
                    raise OSError("no follower")
                follower.setblocking(False)
            except OSError:
                follower.close()
                continue
            with self._lock:
                self._listeners.append(follower)
                if len(self._listeners) > _MOST:
                    self._listeners.pop(0).close()

    def wake(self) -> None:
        """There is more. Who has not taken the wake-ups before this one needs no further."""
        with self._lock:
            for follower in list(self._listeners):
                try:
                    follower.send(_MORE)
                except BlockingIOError:
                    continue
                except OSError:
                    follower.close()
                    self._listeners.remove(follower)

    def close(self) -> None:
        """End it; followers look for themselves from now on. Safe to call twice."""
        if self._socket is None:
            return
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._socket.close()
        self._socket = None
        with self._lock:
            while self._listeners:
                self._listeners.pop().close()
