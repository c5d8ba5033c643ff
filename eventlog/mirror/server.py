"""`hemra log serve`: a thread for every connection, and a bound on everything that a stranger can cost.

The accepting thread does nothing but accept: TLS and the greeting happen in the connection's own thread and
within GREETING_S, so whoever is slow, silent or hostile delays nobody. At most STRANGERS connections may be without a
proved token at a time, fewer where the process may have few files open; the oldest of them makes room for the next.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from eventlog.errors import LogError
from eventlog.mirror.address import Address
from eventlog.mirror.channel import Channel, linger
from eventlog.mirror.errors import MirrorError, Refused, Unreachable, one_line
from eventlog.mirror.greeting import GREETING_S, admit
from eventlog.mirror.identity import Identity
from eventlog.mirror.messages import SILENCE_S, Welcome
from eventlog.mirror.sessions import Sessions
from eventlog.store import Store

#: Connections that have not proved the token, and connections in all.
STRANGERS = 64
CONNECTIONS = 256
#: Lines of complaint that are told at most in SPAN_S seconds; the rest is counted.
_COMPLAINTS, _SPAN_S = 20, 10.0
#: How long the server waits at its end for what is being written.
_FAREWELL_S = 10.0
_LOOK_S = 0.5
#: How long the accepting thread waits for one who was sent away to be gone; it takes no time but a thread's turn.
_LEAVE_S = 0.5
_TLS_RECORD = 0x16

Tell = Callable[[str], None]


@dataclass(eq=False)
class _Guest:
    """One connection: its socket, who is at the other end, and whether the token was proved."""

    socket: socket.socket
    peer: str
    known: bool = False
    leaving: bool = False
    channel: Channel | None = None
    thread: threading.Thread | None = None

    def shut(self) -> None:
        """End whatever waits on it, from another thread."""
        self.leaving = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)


@dataclass
class _Complaints:
    """Tells why strangers were refused, so many lines at most in a while."""

    tell: Tell
    began: float = 0.0
    told: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, text: str) -> None:
        """One line, if there is room for it."""
        with self.lock:
            now = time.monotonic()
            if now - self.began > _SPAN_S:
                if self.told > _COMPLAINTS:
                    self.tell(f"refused {self.told - _COMPLAINTS} more connections in {_SPAN_S:g} s")
                self.began, self.told = now, 0
            self.told += 1
            if self.told <= _COMPLAINTS:
                self.tell(text)


class Server:
    """Serves one store. `tell` gets one line for each thing worth knowing; it is called from several threads."""

    def __init__(
        self, store: Store, address: Address, identity: Identity, token: bytes, *, pushes: bool, tell: Tell
    ) -> None:
        """Listen. Raises MirrorError when the address cannot be listened on."""
        self._identity = identity
        self._token = token
        self._welcome = Welcome(proof="0" * 64, store=store.id, pushes=pushes)
        self._tell: Tell = lambda text: tell(one_line(text))
        self._complaints = _Complaints(self._tell)
        self._guests: list[_Guest] = []
        self._strangers = _room_for_strangers()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._sessions = Sessions(store, pushes=pushes, tell=self._tell, stop=self._stop)
        self._listener = _listener(address)
        self.address = Address(address.host, self._listener.getsockname()[1])

    def run(self) -> None:
        """Serve until `close` is called or the thread is interrupted."""
        self._listener.settimeout(_LOOK_S)
        while not self._stop.is_set():
            try:
                connection, where = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                if self._stop.is_set():
                    return
                # Out of descriptors, or a peer that was gone at once: neither ends the server.
                if error.errno in (errno.EMFILE, errno.ENFILE) and self._make_room(0):
                    continue
                self._complaints.add(f"a connection could not be taken: {error.strerror or error}")
                self._stop.wait(_LOOK_S)
                continue
            self._welcome_in(connection, Address(where[0], where[1]).place)

    def _welcome_in(self, connection: socket.socket, peer: str) -> None:
        guest = _Guest(connection, peer)
        self._make_room(self._strangers)
        if len(self._guests) >= CONNECTIONS and not self._make_room(0):
            self._complaints.add(f"refused {peer}: {CONNECTIONS} connections are open already")
            connection.close()
            return
        with self._lock:
            self._guests.append(guest)
        thread = threading.Thread(target=self._serve, args=(guest,), name=f"guest {peer}", daemon=True)
        thread.start()
        guest.thread = thread  # only now: Ctrl-C may come in between, and `close` waits for what was started

    def _make_room(self, most: int) -> bool:
        """Send the oldest stranger away where there are `most` or more; whether one had to go."""
        with self._lock:
            strangers = [other for other in self._guests if not other.known and not other.leaving]
            if not strangers or len(strangers) < most:
                return False
            strangers[0].shut()
        if strangers[0].thread is not None:
            strangers[0].thread.join(_LEAVE_S)
        return True

    def _serve(self, guest: _Guest) -> None:
        """One connection from TLS to its end; nothing that happens in it reaches another."""
        try:
            channel = self._admitted(guest)
            if channel is not None:
                self._sessions.serve(channel)
        except (LogError, OSError) as error:
            self._tell(f"{guest.peer}: {error}")
        finally:
            with self._lock:
                self._guests.remove(guest)
            guest.socket.close()

    def _admitted(self, guest: _Guest) -> Channel | None:
        """A channel to somebody who has the token, or None after a line on both sides."""
        late = threading.Timer(GREETING_S, guest.shut)
        late.daemon = True
        late.start()
        try:
            connection = self._encrypted(guest)
            channel = Channel(connection, guest.peer)
            admit(channel, self._token, self._identity.fingerprint, self._welcome)
        except Refused as error:
            self._complaints.add(f"refused {guest.peer}: {error}")
            return None
        except Unreachable as error:
            why = "sent away" if guest.leaving else str(error)
            self._complaints.add(f"{guest.peer} went away before it showed a token ({why})")
            return None
        finally:
            late.cancel()
        with self._lock:
            if guest.leaving:
                return None
            guest.known, guest.channel = True, channel
        return channel

    def _encrypted(self, guest: _Guest) -> ssl.SSLSocket:
        """Raises Refused for what is no TLS, Unreachable for who does not finish in time."""
        raw = guest.socket
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _notice_dead_peers(raw)
            raw.settimeout(GREETING_S)
            first = raw.recv(1, socket.MSG_PEEK)
            if first and first[0] != _TLS_RECORD:
                raw.sendall(b"hemra: only TLS is spoken here; use `hemra log pull` or `hemra log push`\n")
                linger(raw)
                raise Refused("it does not speak TLS", "plain")
            context = self._identity.context
            # The handshake comes after the socket was exchanged: `shut` would find the old one empty.
            connection = context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
            guest.socket = connection
            if guest.leaving:
                raise Unreachable("sent away")
            connection.do_handshake()
        except TimeoutError:
            raise Unreachable(f"nothing came for {GREETING_S:g} s") from None
        except ssl.SSLError as error:
            raise Refused(f"the TLS handshake failed: {error.reason or error}", "tls") from None
        except OSError as error:
            raise Unreachable(error.strerror or str(error)) from None
        return connection

    def close(self) -> None:
        """Take no more connections, end those that are open, and wait for what is being written."""
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
        self._listener.close()
        with self._lock:
            guests = list(self._guests)
        for guest in guests:
            guest.shut()
        deadline = time.monotonic() + _FAREWELL_S
        for guest in guests:
            if guest.thread is not None:
                guest.thread.join(max(0.0, deadline - time.monotonic()))


def _room_for_strangers() -> int:
    """How many may wait for their greeting: most of a process's open files are for those who have the token."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return STRANGERS if soft == resource.RLIM_INFINITY else max(4, min(STRANGERS, soft // 4))


def _listener(address: Address) -> socket.socket:
    try:
        family, _, _, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise MirrorError(f"cannot listen on {address}: {error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise MirrorError(f"cannot listen on {address}: {error.strerror or error}") from None
    return listener


def _notice_dead_peers(raw: socket.socket) -> None:
    """End a connection whose peer takes nothing for so long, also where nothing is being sent."""
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(3 * SILENCE_S * 1000))
    if hasattr(socket, "TCP_KEEPIDLE"):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(SILENCE_S))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, int(SILENCE_S / 2))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
