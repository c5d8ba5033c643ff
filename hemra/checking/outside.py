"""Sees what programs in this network namespace try to reach outside it, and answers their look-ups of names.

For a namespace of our own without a way out, in which we may set routes. Every address of the internet is made one of
its loopback device: so look-ups arrive here whatever name server is asked, and a connection to anywhere is refused at
once and seen as the packet that asks for it. Look-ups are answered with addresses from 198.18.0.0/15, which are
nobody's, so that what follows on a look-up is seen too, by name.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

#: Linux's numbers, which Python does not name.
_PACKET_OUTGOING, _SOL_PACKET, _PACKET_STATISTICS, _ETH_P_ALL = 4, 263, 6, 3
_NEW_ROUTE, _REQUEST, _ACK, _CREATE, _EXCLUSIVE = 24, 1, 4, 0x400, 0x200
_TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL, _OUT_INTERFACE = 255, 3, 254, 2, 4
_TCP, _UDP, _SYN, _SYN_ACK = 6, 17, 0x02, 0x12
_DNS, _A, _RESPONSE, _RECURSION = 53, 1, 0x8000, 0x0080
_FIRST_ADDRESS = int(ipaddress.IPv4Address("198.18.0.1"))
_BUFFER_BYTES = 8 << 20
_MOST = 10_000


@dataclass
class Attempt:
    """Something outside that was tried: `name` that was looked up (null: it went by address), `port` (null: only
    looked up), `protocol` tcp, udp or dns, and how often."""

    name: str | None
    address: str | None
    port: int | None
    protocol: str
    count: int = 1


class Outside:
    """The watch. `open` before the first program starts, `close` gives back what was seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str | None, int | None, str], Attempt] = {}
        self._names: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._packets: socket.socket | None = None

    def open(self) -> None:
        """Set the routes and begin to listen. Raises OSError where this is not allowed here."""
        for family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(FileExistsError):
                everything_is_here(family)
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        packets.bind(("lo", _ETH_P_ALL))
        self._packets = packets
        self._serve(packets, self._take_packet)
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            names = socket.socket(family, socket.SOCK_DGRAM)
            _tell_where_to(names, family)
            names.bind((address, _DNS))
            self._serve(names, self._answer)

    def _serve(self, source: socket.socket, take: Callable[[socket.socket], None]) -> None:
        self._sockets.append(source)
        thread = threading.Thread(target=_loop, args=(source, take), name="outside", daemon=True)
        thread.start()
        self._threads.append(thread)

    def close(self) -> tuple[list[Attempt], int]:
        """(what was tried, in the order in which it was first seen; packets that could not be looked at)."""
        lost = 0
        if self._packets is not None:
            told = self._packets.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
            lost = struct.unpack("II", told)[1]
        for each in self._sockets:
            each.close()
        for thread in self._threads:
            thread.join(2)
        with self._lock:
            return self._attempts(), lost

    def _attempts(self) -> list[Attempt]:
        """A look-up that a connection followed is told by the connection alone."""
        followed = {each.name for each in self._seen.values() if each.protocol != "dns"}
        return [each for each in self._seen.values() if each.protocol != "dns" or each.name not in followed]

    def _note(self, name: str | None, address: str | None, port: int | None, protocol: str) -> None:
        key = name or address, port, protocol
        with self._lock:
            if key in self._seen:
                self._seen[key].count += 1
            elif len(self._seen) < _MOST:
                self._seen[key] = Attempt(name, address, port, protocol)

    def _take_packet(self, source: socket.socket) -> None:
        packet, where = source.recvfrom(256)
        if where[2] != _PACKET_OUTGOING:
            return  # what goes out of the loopback device comes in again
        found = destination(packet)
        if found is None:
            return
        address, port, protocol = found
        with self._lock:
            name = self._names.get(address)
        self._note(name, None if name else address, port, protocol)

    def _answer(self, source: socket.socket) -> None:
        query, ancillary, _, sender = source.recvmsg(4096, 256)
        name, kind = question(query)
        if name is None:
            return
        address = self._address(name)
        self._note(name, None, None, "dns")
        # The answer leaves from the address that was asked, else whoever asked does not take it.
        with contextlib.suppress(OSError):
            source.sendmsg([reply(query, address if kind == _A else None)], _from_there(ancillary), 0, sender)

    def _address(self, name: str) -> str:
        with self._lock:
            if name not in self._addresses:
                address = str(ipaddress.IPv4Address(_FIRST_ADDRESS + len(self._addresses) % 100_000))
                self._addresses[name] = address
                self._names[address] = name
            return self._addresses[name]


def _loop(source: socket.socket, take: Callable[[socket.socket], None]) -> None:
    """Take what comes until the socket is closed; looked at now and then, for closing wakes nobody."""
    source.settimeout(0.2)
    while source.fileno() >= 0:
        try:
            take(source)
        except TimeoutError:
            continue
        except OSError:
            return


def everything_is_here(family: int) -> None:
    """Make every address of a family one of the loopback device. Raises OSError."""
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, _TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL, 0)
    device = struct.pack("HHI", 8, _OUT_INTERFACE, socket.if_nametoindex("lo"))
    body = route + device
    head = struct.pack("IHHII", 16 + len(body), _NEW_ROUTE, _REQUEST | _ACK | _CREATE | _EXCLUSIVE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(head + body)
        code = struct.unpack_from("i", netlink.recv(4096), 16)[0]
    if code != 0:
        raise OSError(-code, "the routes of this namespace cannot be set")


def destination(packet: bytes) -> tuple[str, int, str] | None:
    """(address, port, `tcp` or `udp`) of a packet that begins something with a place outside; None for others."""
    if len(packet) < 28:
        return None
    version = packet[0] >> 4
    if version == 4:
        protocol, start = packet[9], (packet[0] & 0x0F) * 4
        address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.IPv4Address(packet[16:20])
    elif version == 6 and len(packet) >= 48:
        protocol, start, address = packet[6], 40, ipaddress.IPv6Address(packet[24:40])
    else:
        return None
    if address.is_loopback or len(packet) < start + 8:
        return None
    port = int.from_bytes(packet[start + 2 : start + 4], "big")
    if protocol == _TCP and len(packet) > start + 13 and packet[start + 13] & _SYN_ACK == _SYN:
        return str(address), port, "tcp"
    sender = int.from_bytes(packet[start : start + 2], "big")
    if protocol == _UDP and _DNS not in (port, sender):
        return str(address), port, "udp"
    return None


def question(query: bytes) -> tuple[str | None, int]:
    """(name, kind of record) that a look-up asks for; no name for what is none."""
    labels, at = [], 12
    with contextlib.suppress(IndexError, struct.error):
        while (size := query[at]) and size < 64:
            labels.append(query[at + 1 : at + 1 + size].decode("ascii", "replace"))
            at += 1 + size
        kind = struct.unpack_from(">H", query, at + 1)[0]
        return (".".join(labels).lower() or None), kind
    return None, 0


def reply(query: bytes, address: str | None) -> bytes:
    """The answer to a look-up: one address, or that there is none of this kind."""
    end = query.index(0, 12) + 5
    flags = struct.unpack_from(">H", query, 2)[0] | _RESPONSE | _RECURSION
    head = query[:2] + struct.pack(">HHHHH", flags, 1, 1 if address else 0, 0, 0)
    if address is None:
        return head + query[12:end]
    record = struct.pack(">HHHIH", 0xC00C, _A, 1, 1, 4) + ipaddress.IPv4Address(address).packed
    return head + query[12:end] + record


def _tell_where_to(names: socket.socket, family: int) -> None:
    if family == socket.AF_INET:
        names.setsockopt(socket.IPPROTO_IP, 8, 1)  # IP_PKTINFO
    else:
        names.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        names.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)


def _from_there(ancillary: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """The same note back: send from the address that was sent to."""
    found = []
    for level, kind, data in ancillary:
        if level == socket.IPPROTO_IP and kind == 8:
            found.append((level, kind, struct.pack("i", 0) + data[4:8] + bytes(4)))
        elif level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO:
            found.append((level, kind, data[:16] + bytes(4)))
    return found
