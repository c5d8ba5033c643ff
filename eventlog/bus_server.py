"""The recorder's end of the bus: takes what many producers have sent, answers each, wakes followers.

Requests come as nng's REQ sockets send them (SP over IPC, see `bus_peer`), over plain sockets and one selector:
the thread that commits also reads and answers. nng's own REP socket, used raw, hands each message through three
threads, which took more of the recorder's time than recording did. A REQ socket of any nng may ask here. The PUB
socket that says "there is more" is nng's; it may drop that without a word, so nobody relies on it.

What one peer can hold is bounded: a request that is not whole yet by MAX_REQUEST, answers that it does not read by
MAX_UNREAD, all peers' unfinished requests together by MAX_PARTIAL, their number by MAX_PEERS. Whoever goes beyond is
disconnected. Nobody is waited for.

nng must not be used after a fork: nothing here forks, and only the recorder process loads nng at all.
"""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import struct
import time
from pathlib import Path
from typing import Any, NamedTuple

from eventlog.bus import GREETING, MAX_REQUEST, REP, REQ, SP, Address, BusError
from eventlog.errors import StreamBusy

#: What one drain takes at most, so that a commit stays small enough to answer soon.
MAX_DRAIN_REQUESTS = 1024
MAX_DRAIN_BYTES = 4 * 1024 * 1024
MAX_PEERS = 4096
KEPT_DESCRIPTORS = 32
MAX_PARTIAL = 32 * 1024 * 1024
MAX_UNREAD = 64 * 1024
#: Hops that a request may have come through (nng's own limit).
_MAX_HOPS = 8
_FRAME = struct.Struct(">BQ")
_ENDS_HEADER = 0x80
#: What a wake-up says (pynng cannot receive an empty message).
_MORE = b"+"
_READ = 64 * 1024


class _Peer:
    """One connection: bytes that are no whole request yet, and answers that it has not taken yet."""

    __slots__ = ("greeted", "socket", "unfinished", "unread")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.greeted = False
        self.unfinished = bytearray()
        self.unread = bytearray()


class Received(NamedTuple):
    """One request. `peer` and `way_back` are where its answer goes."""

    body: bytes
    peer: Any
    way_back: bytes = b""


class _Hostile(Exception):
    """What a peer sent is not the bus protocol."""


def _requests(peer: _Peer) -> list[Received]:
    """Take the whole requests out of what the peer has sent. Raises _Hostile."""
    buffer, found = peer.unfinished, []
    if not peer.greeted:
        if len(buffer) < GREETING.size:
            return []
        if GREETING.unpack_from(buffer) != (SP, REQ, 0):
            raise _Hostile
        peer.greeted = True
        del buffer[: GREETING.size]
    start = 0
    while len(buffer) - start >= _FRAME.size:
        kind, size = _FRAME.unpack_from(buffer, start)
        if kind != 1 or not 4 <= size <= MAX_REQUEST:
            raise _Hostile
        begin, end = start + _FRAME.size, start + _FRAME.size + size
        if len(buffer) < end:
            break
        header = begin + 4
        while not buffer[header - 4] & _ENDS_HEADER:
            header += 4
            if header > end or header - begin > 4 * _MAX_HOPS:
                raise _Hostile
        found.append(Received(bytes(buffer[header:end]), peer, bytes(buffer[begin:header])))
        start = end
    del buffer[:start]
    return found


class Server:
    """Listens for a stream's producers and followers. Used by one thread; `close` before the process ends."""

    def __init__(self, address: Address) -> None:
        """Listen. Raises StreamBusy when another process listens there already, BusError for the rest."""
        import pynng

        self._nng = pynng
        self._path = address.requests
        self._selector = selectors.DefaultSelector()
        self._peers: set[_Peer] = set()
        self._waiting: list[Received] = []
        self._more = 0
        self._answered: set[_Peer] = set()
        self._pub: Any = None
        self._listener = _listen(address.requests)
        self._inode = address.requests.stat().st_ino
        self._selector.register(self._listener, selectors.EVENT_READ)
        try:
            _limit_nng_threads(pynng.lib)
            self._pub = pynng.Pub0(recv_max_size=1)
            self._pub.listen(f"ipc://{address.wakes}")
        except pynng.AddressInUse:
            self.close()
            raise StreamBusy(f"another recorder listens at {address.wakes}") from None
        except pynng.NNGException as error:
            self.close()
            raise BusError(f"cannot listen at {address.wakes}: {error}") from error

    def receive(self, timeout_s: float, awake_until: float = 0.0) -> list[Received]:
        """Everything that waits; where nothing does, what comes first within `timeout_s` (or nothing).

        Before `awake_until` (monotonic seconds) it does not sleep.
        """
        taken, self._waiting = self._waiting, []
        if taken:
            taken += self._look(0)
        else:
            taken = self._await(timeout_s, awake_until)
        size = 0
        for count, item in enumerate(taken):
            size += len(item.body)
            if count and (count >= MAX_DRAIN_REQUESTS or size > MAX_DRAIN_BYTES):
                self._waiting = taken[count:]
                return taken[:count]
        return taken

    def _await(self, timeout_s: float, awake_until: float) -> list[Received]:
        now = time.monotonic()
        deadline = now + timeout_s
        while True:
            taken = self._look(0.0 if now < awake_until else max(0.0, deadline - now))
            now = time.monotonic()
            if taken or now >= deadline:
                return taken

    def _look(self, timeout_s: float) -> list[Received]:
        """Wait for something to happen at the sockets; the requests that are whole by then."""
        taken: list[Received] = []
        # What one producer has sent meanwhile goes into one commit, within the bounds of one.
        self._more = MAX_DRAIN_BYTES
        for key, events in self._selector.select(timeout_s):
            peer = key.data
            if peer is None:
                self._accept()
            elif events & selectors.EVENT_READ:
                taken += self._read(peer)
            elif peer in self._peers:
                self._send(peer)
        return taken

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            while True:
                try:
                    connection, _ = self._listener.accept()
                except OSError as error:
                    if isinstance(error, BlockingIOError | ConnectionAbortedError):
                        raise
                    return  # out of file descriptors: it stays in the queue until another has gone
                if len(self._peers) >= self._room():
                    connection.close()
                    continue
                connection.setblocking(False)
                peer = _Peer(connection)
                self._peers.add(peer)
                self._selector.register(connection, selectors.EVENT_READ, peer)
                peer.unread += GREETING.pack(SP, REP, 0)
                self._send(peer)

    def _room(self) -> int:
        """How many peers may be connected: the recorder keeps descriptors for files of its own."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return (
            MAX_PEERS if soft == resource.RLIM_INFINITY else max(1, min(MAX_PEERS, soft - KEPT_DESCRIPTORS))
        )

    def _read(self, peer: _Peer) -> list[Received]:
        """The requests that are whole now. A peer that has gone, or says what is no request, is let go."""
        if peer.socket.fileno() < 0:
            return []
        found: list[Received] = []
        try:
            while piece := peer.socket.recv(_READ):
                peer.unfinished += piece
                found += _requests(peer)
                if len(peer.unfinished) > _READ:
                    self._bound_partial()
                if len(piece) < _READ or self._more <= 0:
                    return found
                self._more -= len(piece)
        except BlockingIOError:
            return found
        except (OSError, _Hostile):
            pass
        self._let_go(peer)
        return found

    def _bound_partial(self) -> None:
        """Whoever holds most of what is not whole goes first when all together hold too much."""
        while sum(len(peer.unfinished) for peer in self._peers) > MAX_PARTIAL:
            self._let_go(max(self._peers, key=lambda peer: len(peer.unfinished)))

    def _let_go(self, peer: _Peer) -> None:
        if peer in self._peers:
            self._peers.discard(peer)
            self._selector.unregister(peer.socket)
            peer.socket.close()
            peer.unfinished.clear()
            peer.unread.clear()

    def answer_later(self, request: Received, body: bytes) -> None:
        """As `answer`, when `send_answers` is called: what one peer is answered goes out together."""
        peer: _Peer = request.peer
        if peer in self._peers:
            peer.unread += _FRAME.pack(1, len(request.way_back) + len(body)) + request.way_back + body
            self._answered.add(peer)

    def send_answers(self) -> None:
        """Send what was answered since the last call."""
        answered, self._answered = self._answered, set()
        for peer in answered:
            if peer in self._peers:
                self._send(peer)

    def answer(self, request: Received, body: bytes) -> None:
        """Answer one request. A producer that has gone gets nothing; that is no error."""
        peer: _Peer = request.peer
        frame = _FRAME.pack(1, len(request.way_back) + len(body)) + request.way_back + body
        if peer not in self._peers:
            return
        if not peer.unread:
            try:
                frame = frame[peer.socket.send(frame) :]
            except BlockingIOError:
                pass
            except OSError:
                self._let_go(peer)
                return
        if frame:
            peer.unread += frame
            self._send(peer)

    def _send(self, peer: _Peer) -> None:
        """Send what the peer has not taken yet, as far as it takes it."""
        try:
            sent = peer.socket.send(peer.unread)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._let_go(peer)
            return
        del peer.unread[:sent]
        if len(peer.unread) > MAX_UNREAD:
            self._let_go(peer)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unread else 0)
        if self._selector.get_key(peer.socket).events != wanted:
            self._selector.modify(peer.socket, wanted, peer)

    def wake(self) -> None:
        """Tell every follower that there is more. Best effort."""
        if self._pub.pipes:
            with contextlib.suppress(self._nng.NNGException):
                self._pub.send(_MORE, block=False)

    def close(self) -> None:
        """Close all sockets; safe to call twice. Requests that were not answered are dropped with them."""
        if self._pub is not None:
            self._pub.close()
        if self._listener.fileno() < 0:
            return
        for peer in tuple(self._peers):
            self._let_go(peer)
        self._selector.close()
        self._listener.close()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:  # not the socket of one who came after us
                self._path.unlink()


def _listen(path: Path) -> socket.socket:
    """A listening socket at `path`, in the place of one whose process has died. Raises StreamBusy, BusError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            listener.bind(str(path))
        except OSError:
            if _answers(path):
                raise StreamBusy(f"another recorder listens at {path}") from None
            path.unlink(missing_ok=True)
            listener.bind(str(path))
        listener.listen(1024)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise BusError(f"cannot listen at {path}: {error.strerror or error}") from error
    except BaseException:
        listener.close()
        raise
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def _limit_nng_threads(lib: Any) -> None:
    """nng's defaults are made for servers of many sockets; one recorder needs a few threads."""
    for parameter, count in (
        (lib.NNG_INIT_NUM_TASK_THREADS, 2),
        (lib.NNG_INIT_NUM_POLLER_THREADS, 1),
        (lib.NNG_INIT_MAX_POLLER_THREADS, 1),
        (lib.NNG_INIT_NUM_EXPIRE_THREADS, 1),
        (lib.NNG_INIT_NUM_RESOLVER_THREADS, 1),
    ):
        lib.nng_init_set_parameter(parameter, count)
