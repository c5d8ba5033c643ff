"""Reading what programs try to reach outside: packets, look-ups of names, and the answers to them."""

from __future__ import annotations

import ipaddress
import struct

import pytest

from hemra.checking.outside import destination, question, reply


def _packet(to: str, port: int, *, protocol: int = 6, flags: int = 0x02, sender: int = 40_000) -> bytes:
    address = ipaddress.ip_address(to)
    body = struct.pack(">HHIIBB", sender, port, 0, 0, 0x50, flags) + bytes(6)
    if address.version == 4:
        return bytes([0x45]) + bytes(8) + bytes([protocol]) + bytes(6) + address.packed + body
    return bytes([0x60]) + bytes(5) + bytes([protocol]) + bytes(17) + address.packed + body


def _query(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


@pytest.mark.parametrize(
    ("packet", "found"),
    [
        (_packet("93.184.216.34", 443), ("93.184.216.34", 443, "tcp")),
        (_packet("2606:2800::1", 80), ("2606:2800::1", 80, "tcp")),
        (_packet("93.184.216.34", 443, flags=0x12), None),
        (_packet("93.184.216.34", 443, flags=0x10), None),
        (_packet("127.0.0.1", 8080), None),
        (_packet("::1", 8080), None),
        (_packet("8.8.8.8", 443, protocol=17), ("8.8.8.8", 443, "udp")),
        (_packet("8.8.8.8", 53, protocol=17), None),
        (_packet("8.8.8.8", 40_000, protocol=17, sender=53), None),
        (_packet("8.8.8.8", 443)[:24], None),
        (b"", None),
        (bytes(64), None),
    ],
)
def test_only_what_begins_something_outside_is_seen(
    packet: bytes, found: tuple[str, int, str] | None
) -> None:
    """Every packet to the script itself would be told as traffic to the outside, or a real one would be missed."""
    assert destination(packet) == found


def test_a_look_up_is_answered_so_that_what_follows_is_seen() -> None:
    """The name of what a program then connects to would not be known."""
    query = _query("Example.com", 1)
    assert question(query) == ("example.com", 1)
    answer = reply(query, "198.18.0.1")
    assert answer[:2] == query[:2]
    assert struct.unpack_from(">HHHH", answer, 2) == (0x8180, 1, 1, 0)
    assert answer.endswith(bytes([198, 18, 0, 1]))
    assert struct.unpack_from(">HHH", reply(_query("example.com", 28), None), 2) == (0x8180, 1, 0)


@pytest.mark.parametrize("query", [b"", b"\0" * 12, b"\0" * 12 + b"\x05ab", b"\xff" * 40])
def test_what_is_no_look_up_has_no_name(query: bytes) -> None:
    """One odd datagram would end the watch."""
    assert question(query)[0] is None
