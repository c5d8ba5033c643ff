"""Crowds and talkers at a server's door: they are sent away in time, and whoever has the token gets in."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.mirror.address import Address
from eventlog.mirror.channel import Channel
from eventlog.mirror.dial import Dialler
from eventlog.mirror.errors import BadPeer, Unreachable
from eventlog.mirror.greeting import greet
from eventlog.mirror.messages import Kind
from eventlog.store import Store

from .mirroring import ServeCommand, Serving, hemra, recorded, serving
from .test_mirror_strangers import answers, encrypted, frame, listed, told

_HEAD = struct.Struct(">BI")
#: What a legitimate pull may take to get in while strangers are at the door, on a busy machine.
_SOON_S = 8.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """A server with one run."""
    store = Store.open(tmp_path / "there", create=True)
    recorded(store)
    with serving(store, tmp_path / "config") as running:
        yield running


@pytest.mark.parametrize("descriptors", [None, 64], ids=["", "ulimit -n 64"])
def test_a_crowd_that_says_nothing_keeps_nobody_out(tmp_path: Path, descriptors: int | None) -> None:
    """A few hundred silent connections must not shut the server to those who have the token."""
    there, home = Store.open(tmp_path / "there", create=True), tmp_path / "home"
    recorded(there)
    limit = [] if descriptors is None else ["prlimit", f"--nofile={descriptors}:{descriptors}"]
    server = ServeCommand(there.path, home, before=limit)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
    crowd: list[socket.socket] = []
    try:
        for number in range(600):
            stranger = socket.create_connection(server.address, 10)
            if number % 3 == 0:
                stranger.sendall(b"\x16\x03\x01\x02\x00")  # the beginning of a handshake
            crowd.append(stranger)
        began = time.monotonic()
        pulled = hemra(
            home, "log", "pull", "--store", str(tmp_path / "here"), str(server.address), "run", "--fingerprint",
            server.fingerprint, "--timeout", "20",
        )  # fmt: skip
        assert (pulled.returncode, "whole and identical" in pulled.stderr) == (0, True), pulled.stderr
        assert time.monotonic() - began < _SOON_S
    finally:
        for stranger in crowd:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        ended = server.end(signal.SIGINT)
    assert ended == 130, server.lines[-12:]
    assert "connections are open already" not in "\n".join(server.lines)


def test_a_stranger_who_was_shut_is_not_shut_again_for_the_next(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest stranger makes room once: while his thread ends, the next oldest has to, or the number grows."""
    held = threading.Event()
    monkeypatch.setattr(type(server.server), "_serve", lambda self, guest: held.wait(20))
    monkeypatch.setattr("eventlog.mirror.server._LEAVE_S", 0.001, raising=False)
    guests = server.server._guests
    crowd = [socket.create_connection(server.address, 5) for _ in range(100)]
    try:
        deadline = time.monotonic() + 10
        while sum(not g.leaving for g in list(guests)) != 64 or len(guests) < 100:
            assert time.monotonic() < deadline, len(guests)
            threading.Event().wait(0.01)
        assert [g.leaving for g in guests] == [True] * 36 + [False] * 64
    finally:
        held.set()
        for connection in (*crowd, *(guest.socket for guest in guests)):
            connection.close()
        guests.clear()


def test_keepalives_are_no_greeting(server: Serving) -> None:
    """Whoever sends nothing but signs of life before the greeting is refused at the first of them."""
    with encrypted(server) as talker:
        began = time.monotonic()
        talker.sendall(_HEAD.pack(Kind.KEEPALIVE, 0))
        assert [kind for kind, _ in answers(talker)] == [Kind.REFUSED]
        assert time.monotonic() - began < 3
    assert "kind 19 where none belongs" in told(server, "refused 127.0.0.1:")


def test_a_server_that_only_says_it_is_alive_is_no_server(tmp_path: Path) -> None:
    """A puller must not be held for ever by whoever answers at the address with signs of life."""
    here, there = socket.socketpair()
    there.sendall(_HEAD.pack(Kind.KEEPALIVE, 0) * 100)
    with here, there, pytest.raises(BadPeer, match="kind 19 where none belongs"):
        greet(Channel(here, "lab"), b"x" * 43, "sha256:" + "0" * 64)  # type: ignore[arg-type]


def test_a_stranger_is_out_in_time_in_the_middle_of_the_handshake(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handshake that comes byte by byte must be cut off too, within the time of the greeting."""
    monkeypatch.setattr("eventlog.mirror.server.GREETING_S", 1.0)
    with socket.create_connection(server.address, 5) as dripping:
        began = time.monotonic()
        dripping.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # of a ClientHello of 508 bytes
        with contextlib.suppress(OSError):  # shut out
            while time.monotonic() - began < 8:
                dripping.sendall(b"\x01")
                threading.Event().wait(0.1)
        assert time.monotonic() - began < 4


def _closes_at_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.close()


def _closes_in_the_handshake(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.recv(10_000)
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _resets(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.recv(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("close", [_closes_at_once, _closes_in_the_handshake, _resets])
def test_a_server_that_closes_at_once_is_not_called_plain(tmp_path: Path, close: object) -> None:
    """A full server must not be taken for another program: the line says what happened."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=close, args=(listener,))  # type: ignore[arg-type]
        thread.start()
        with pytest.raises(Unreachable, match="closed the connection before the greeting"):
            Dialler(Address(*listener.getsockname()), b"x" * 40, tmp_path, "sha256:" + "0" * 64).connect()
        thread.join()


_INVENTED = "x\nserving /fake at evil\r\nfingerprint sha256:00\x1b[2J\u2028z"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Kind.REFUSED, {"code": "x", "text": _INVENTED}),
        (Kind.HELLO, {"protocol": _INVENTED, "nonce": "0" * 64}),
        (Kind.HELLO, {"protocol": _INVENTED, "nonce": _INVENTED}),
    ],
)
def test_a_stranger_writes_no_line_of_ours(server: Serving, kind: int, message: dict[str, str]) -> None:
    """What a peer says stands inside one line: it must not look like a line of the server's own."""
    with encrypted(server) as stranger:
        stranger.sendall(frame(kind, message))
        answers(stranger)
    line = told(server, "127.0.0.1:")
    assert all(text.isprintable() for text in server.lines), server.lines
    assert "fake" not in line or "\\nserving" in line
    assert listed(server.dialler()) == ["run"]


def test_a_peer_with_the_token_writes_no_line_of_ours(server: Serving, tmp_path: Path) -> None:
    """Also of one who was let in: neither a question nor an answer breaks out of the line that tells of it."""
    questions = [
        (Kind.ASK, {"ask": _INVENTED}),
        (Kind.ASK, {"ask": "gethead", "stream": _INVENTED}),
        (Kind.REFUSED, {"code": "x", "text": _INVENTED}),
    ]
    for kind, message in questions:
        channel, _ = server.dialler().connect()
        with channel:
            channel.send(kind, json.dumps(message).encode())
            told(server, "127.0.0.1")
    channel, _ = server.dialler().connect()
    with channel:
        push = {"ask": "push", "stream": "other", "session": "0" * 32, "store": "s", "follow": False}
        channel.send(Kind.ASK, json.dumps(push).encode())
        channel.receive(Kind.ASK)
        channel.send(
            Kind.ANSWER, json.dumps({"answer": "failed", "code": "other", "text": _INVENTED}).encode()
        )
        told(server, "refused other of")
    assert all(text.isprintable() for text in server.lines), server.lines
