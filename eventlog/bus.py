"""The recorder's end of the bus: nng over `ipc://`, and where its sockets lie.

This is the only module that uses pynng.

Requests come over REP. The socket is *raw*: each request keeps its own return address, so that one thread
takes what many producers have sent, commits it once, and then answers all of them. A PUB socket says "there
is more" after each commit; it may drop that without a word, so nobody relies on it.

nng must not be used after a fork: nothing here forks, and only the recorder process loads nng at all
(producers and followers speak its wire protocol over plain sockets, see `bus_peer`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from eventlog.disk import fsync_dir
from eventlog.errors import LogError, StreamBusy

#: A larger request is refused: nng then closes the connection, so producers check before they send.
MAX_REQUEST = 1024 * 1024
#: What one drain takes at most, so that a commit stays small enough to answer soon.
MAX_DRAIN_REQUESTS = 1024
MAX_DRAIN_BYTES = 4 * 1024 * 1024
#: `sun_path` of the platform without its final NUL.
MAX_PATH = 107 if sys.platform.startswith("linux") else 103
_QUEUE = 1024
#: Lock files for starting recorders: a fixed number, for a lock file cannot be removed without a race.
START_LOCKS = 64
#: What a wake-up says (pynng cannot receive an empty message).
_MORE = b"+"


class BusError(LogError):
    """The bus cannot be set up: the message names the folder or socket and the remedy."""


class Address(NamedTuple):
    """The sockets of one stream's recorder, and the file that those who want to start it lock."""

    requests: Path
    wakes: Path
    start: Path


def address_of(store: Path, stream: str) -> Address:
    """Where the recorder of `stream` listens: the same for every process of this user. Raises BusError."""
    name = hashlib.sha256(
        f"{os.path.realpath(store)}\0{stream}".encode("utf-8", "surrogateescape")
    ).hexdigest()[:32]
    directory = _runtime_dir(len(name) + len("/.req"))
    start = directory / f"start-{int(name[:8], 16) % START_LOCKS:02d}"
    return Address(directory / f"{name}.req", directory / f"{name}.pub", start)


def _runtime_dir(room: int) -> Path:
    """A folder that only this user can enter, short enough for a socket's path. Made when it is missing."""
    uid = os.getuid()
    candidates = [
        Path(base) / "hemra"
        for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}")
        if base and os.path.isdir(base) and os.stat(base).st_uid == uid
    ]
    # The last one is the same in every environment, whatever TMPDIR says.
    candidates += [Path(tempfile.gettempdir()) / f"hemra-{uid}", Path(f"/tmp/hemra-{uid}")]
    problem = "no candidate"
    for directory in candidates:
        if len(os.fsencode(directory)) + room > MAX_PATH:
            problem = f"{directory} is too long for a socket's path"
            continue
        try:
            _make_private(directory, uid)
        except OSError as error:
            problem = f"{directory}: {error.strerror or error}"
            continue
        return directory
    raise BusError(
        f"no folder for the recorder's sockets ({problem}): set XDG_RUNTIME_DIR to a short path of your own"
    )


def _make_private(directory: Path, uid: int) -> None:
    """Make `directory` with mode 0700, or check that it is a real folder of ours and closed to others."""
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
        fsync_dir(directory.parent)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
        raise BusError(f"{directory} is not a folder of yours: remove it, or set XDG_RUNTIME_DIR")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise BusError(f"{directory} can be entered by others: `chmod 700 {directory}`")


class Received(NamedTuple):
    """One request; `message` carries the return address until it is answered."""

    body: bytes
    message: Any


class Server:
    """Listens for a stream's producers and followers. Used by one thread; `close` before the process ends."""

    def __init__(self, address: Address) -> None:
        """Listen. Raises StreamBusy when another process listens there already, BusError for the rest."""
        import pynng

        self._nng = pynng
        self._lib, self._ffi = pynng.lib, pynng.ffi
        self._limit_threads()
        self._slot = self._ffi.new("nng_msg **")
        self._wait_ms = -1
        self._rep: Any = pynng.Rep0(
            opener=self._lib.nng_rep0_open_raw,
            recv_max_size=MAX_REQUEST,
            recv_buffer_size=_QUEUE,
            send_buffer_size=_QUEUE,
            send_timeout=1000,
        )
        self._pub: Any = pynng.Pub0(recv_max_size=1)
        try:
            for socket, path in ((self._rep, address.requests), (self._pub, address.wakes)):
                socket.listen(f"ipc://{path}")
        except pynng.AddressInUse:
            self.close()
            raise StreamBusy(f"another recorder listens at {address.requests}") from None
        except pynng.NNGException as error:
            self.close()
            raise BusError(f"cannot listen at {address.requests}: {error}") from error

    def _limit_threads(self) -> None:
        """nng's defaults are made for servers of many sockets; one recorder needs a few threads."""
        lib = self._lib
        for parameter, count in (
            (lib.NNG_INIT_NUM_TASK_THREADS, 2),
            (lib.NNG_INIT_NUM_POLLER_THREADS, 1),
            (lib.NNG_INIT_MAX_POLLER_THREADS, 1),
            (lib.NNG_INIT_NUM_EXPIRE_THREADS, 1),
            (lib.NNG_INIT_NUM_RESOLVER_THREADS, 1),
        ):
            lib.nng_init_set_parameter(parameter, count)

    def receive(self, timeout_s: float) -> list[Received]:
        """Everything that waits; where nothing does, what comes first within `timeout_s` (or nothing)."""
        lib, wait_ms = self._lib, int(timeout_s * 1000)
        if wait_ms and wait_ms != self._wait_ms:
            self._rep.recv_timeout = self._wait_ms = wait_ms
        first = self._take(0 if wait_ms else lib.NNG_FLAG_NONBLOCK)
        if first is None:
            return []
        taken, size = [first], len(first.body)
        while len(taken) < MAX_DRAIN_REQUESTS and size < MAX_DRAIN_BYTES:
            more = self._take(lib.NNG_FLAG_NONBLOCK)
            if more is None:
                break
            taken.append(more)
            size += len(more.body)
        return taken

    def _take(self, flags: int) -> Received | None:
        lib = self._lib
        error = lib.nng_recvmsg(self._rep.socket, self._slot, flags)
        if error:
            if error in (lib.NNG_ETIMEDOUT, lib.NNG_EAGAIN, lib.NNG_EINTR):
                return None
            self._nng.check_err(error)
        message = self._slot[0]
        return Received(bytes(self._ffi.buffer(lib.nng_msg_body(message), lib.nng_msg_len(message))), message)

    def answer(self, request: Received, body: bytes) -> None:
        """Answer one request. A producer that has gone gets nothing; that is no error."""
        lib, message = self._lib, request.message
        lib.nng_msg_clear(message)  # the body only: the header is the way back
        failed = lib.nng_msg_append(message, body, len(body)) or lib.nng_sendmsg(self._rep.socket, message, 0)
        if failed:
            lib.nng_msg_free(message)

    def wake(self) -> None:
        """Tell every follower that there is more. Best effort."""
        if self._pub.pipes:
            with contextlib.suppress(self._nng.NNGException):
                self._pub.send(_MORE, block=False)

    def close(self) -> None:
        """Close both sockets; safe to call twice. Requests that were not answered are dropped with them."""
        self._rep.close()
        self._pub.close()
