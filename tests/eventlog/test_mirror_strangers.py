"""Who is refused, how, and that it costs nobody else anything: tokens, certificates, versions, hostile frames."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.mirror import known_hosts, transfers
from eventlog.mirror import token_file as tokens
from eventlog.mirror.address import Address, BadAddress, parse
from eventlog.mirror.dial import Dialler
from eventlog.mirror.errors import BadPeer, MirrorError, Refused, Unreachable, Untrusted
from eventlog.mirror.identity import Identity, parse_fingerprint
from eventlog.mirror.messages import LIMITS, PROTOCOL, Kind
from eventlog.mirror.reconnect import Patience
from eventlog.mirror.secret_files import Exposed
from eventlog.mirror.server import STRANGERS
from eventlog.store import Store

from .mirroring import Serving, recorded, serving

_HEAD = struct.Struct(">BI")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """A server with one run."""
    store = Store.open(tmp_path / "there", create=True)
    recorded(store)
    with serving(store, tmp_path / "config") as running:
        yield running


def encrypted(server: Serving) -> ssl.SSLSocket:
    """A TLS connection that says nothing yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    raw = socket.create_connection(server.address, 5)
    return context.wrap_socket(raw)


def frame(kind: int, message: object) -> bytes:
    """A frame with JSON."""
    payload = json.dumps(message).encode()
    return _HEAD.pack(kind, len(payload)) + payload


def answers(connection: socket.socket) -> list[tuple[int, bytes]]:
    """All frames until the server closes."""
    connection.settimeout(10)
    got = b""
    while piece := connection.recv(65536):
        got += piece
    found = []
    while got:
        kind, length = _HEAD.unpack(got[: _HEAD.size])
        found.append((kind, got[_HEAD.size : _HEAD.size + length]))
        got = got[_HEAD.size + length :]
    return found


def told(server: Serving, text: str) -> str:
    """The line of the server that holds `text`, as soon as it is there."""
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        found = [line for line in server.lines if text in line]
        if found:
            return found[0]
        threading.Event().wait(0.01)
    raise AssertionError(f"no line with {text!r} in {server.lines}")


def listed(dialler: Dialler) -> list[str]:
    """The runs that a server shows to this dialler."""
    found = transfers.listed(dialler, Patience(5), lambda line: None, threading.Event())
    return [one.stream for one in found]


def test_a_wrong_token_is_refused_on_both_sides(server: Serving) -> None:
    """Without the token nothing is served, and both people learn why."""
    with pytest.raises(Refused, match="the token is not this server's: copy its token file"):
        listed(server.dialler(token=b"x" * 43))
    assert "wrong token" in told(server, "refused 127.0.0.1:")
    assert listed(server.dialler()) == ["run"]


def test_a_server_without_the_token_is_not_believed(server: Serving, tmp_path: Path) -> None:
    """Whoever takes a server's place, key and all, must not get a puller to take his events."""
    other = Store.open(tmp_path / "impostor", create=True)
    with serving(other, tmp_path / "impostor-config") as impostor:
        # A server that lets everybody in, as one without the token would have to.
        import eventlog.mirror.server as module

        def admit_all(channel, token, fingerprint, welcome):  # type: ignore[no-untyped-def]
            from eventlog.mirror.messages import Challenge, Hello, Proof

            channel.hear(Kind.HELLO, Hello, time.monotonic() + 5)
            channel.say(Kind.CHALLENGE, Challenge(protocol=PROTOCOL, nonce="1" * 64))
            channel.hear(Kind.PROOF, Proof, time.monotonic() + 5)
            channel.say(Kind.WELCOME, welcome)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "admit", admit_all)
            with pytest.raises(Untrusted, match="cannot prove that it has the token"):
                listed(impostor.dialler(token=server.token))
    assert known_hosts.KnownHosts(impostor.config).fingerprint_of(impostor.address) is None


def test_plain_tcp_is_refused_with_a_line(server: Serving) -> None:
    """A person who points a browser or netcat at the port learns what it is."""
    with socket.create_connection(server.address, 5) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"only TLS is spoken here" in plain.recv(1000)
    assert "does not speak TLS" in told(server, "refused 127.0.0.1:")


def test_a_port_that_speaks_no_tls_is_named(tmp_path: Path) -> None:
    """A puller that was given a wrong port must not send its proof there, nor hang."""
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer() -> None:
            connection, _ = plain.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 smtp ready\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        where = Address(*plain.getsockname())
        with pytest.raises(Unreachable, match="does not speak TLS"):
            Dialler(where, b"x" * 40, tmp_path, "sha256:" + "0" * 64).connect()
        thread.join()


def test_an_unknown_certificate_is_not_trusted(server: Serving, tmp_path: Path) -> None:
    """The first contact decides everything after it: without a person or a fingerprint there is none."""
    asked: list[tuple[str, str]] = []
    config = tmp_path / "other-config"
    stranger = Dialler(server.address, server.token, config, confirm=lambda *what: bool(asked.append(what)))
    with pytest.raises(Untrusted, match=rf"fingerprint {server.identity.fingerprint}.*--fingerprint"):
        listed(stranger)
    assert asked == [(server.address.place, server.identity.fingerprint)]
    assert listed(Dialler(server.address, server.token, config, confirm=lambda *what: True)) == ["run"]
    # Remembered now: nobody is asked again.
    assert listed(Dialler(server.address, server.token, config)) == ["run"]


def test_a_changed_certificate_is_refused(server: Serving, tmp_path: Path) -> None:
    """A server that suddenly has another key is what a man in the middle looks like."""
    config = tmp_path / "other-config"
    wrong = "sha256:" + "a" * 64
    known_hosts.KnownHosts(config).remember(server.address, wrong)
    with pytest.raises(Untrusted, match=rf"is not the one remembered in .*{wrong}.*in between"):
        listed(Dialler(server.address, server.token, config))
    with pytest.raises(Untrusted, match="not the one given with --fingerprint"):
        listed(Dialler(server.address, server.token, config, wrong))
    # A person who compared it says so, and from then on the new one is known.
    assert listed(Dialler(server.address, server.token, config, server.identity.fingerprint)) == ["run"]
    assert known_hosts.KnownHosts(config).fingerprint_of(server.address) == server.identity.fingerprint


def test_nothing_is_said_before_the_certificate_is_trusted(server: Serving, tmp_path: Path) -> None:
    """Even a proof is only for whom we trust: with one, a weak token could be tried offline."""
    with pytest.raises(Untrusted):
        listed(Dialler(server.address, server.token, tmp_path / "other-config"))
    assert "went away before it showed a token" in told(server, "127.0.0.1:")


def test_an_old_protocol_is_told_to_both(server: Serving) -> None:
    """Two versions that do not fit must say so and not hang or guess."""
    with encrypted(server) as old:
        old.sendall(frame(Kind.HELLO, {"protocol": "hemra-mirror/0", "nonce": "0" * 64}))
        ((kind, payload),) = answers(old)
    assert kind == Kind.REFUSED
    assert "hemra-mirror/0: upgrade" in json.loads(payload)["text"]
    assert "hemra-mirror/0" in told(server, "refused 127.0.0.1:")


def _oversize(connection: ssl.SSLSocket) -> None:
    connection.sendall(_HEAD.pack(Kind.HELLO, 0xFFFFFFFF) + b"x" * 100_000)


def _garbage(connection: ssl.SSLSocket) -> None:
    connection.sendall(os.urandom(4096))


def _not_json(connection: ssl.SSLSocket) -> None:
    connection.sendall(_HEAD.pack(Kind.HELLO, 4) + b"\xff{{[")


def _deep(connection: ssl.SSLSocket) -> None:
    connection.sendall(_HEAD.pack(Kind.HELLO, 1000) + b"[" * 1000)


def _asks_first(connection: ssl.SSLSocket) -> None:
    connection.sendall(frame(Kind.ASK, {"ask": "streams"}))


def _bad_nonce(connection: ssl.SSLSocket) -> None:
    connection.sendall(frame(Kind.HELLO, {"protocol": PROTOCOL, "nonce": "../../etc"}))


def _no_proof(connection: ssl.SSLSocket) -> None:
    connection.sendall(frame(Kind.HELLO, {"protocol": PROTOCOL, "nonce": "0" * 64}))
    connection.sendall(frame(Kind.ASK, {"ask": "streams"}))


@pytest.mark.parametrize(
    "attack", [_oversize, _garbage, _not_json, _deep, _asks_first, _bad_nonce, _no_proof]
)
def test_hostile_greetings_are_refused(server: Serving, attack: object) -> None:
    """Whatever a stranger sends, he gets one refusal, the server a line, and everybody else is served."""
    with encrypted(server) as stranger:
        attack(stranger)  # type: ignore[operator]
        kinds = [kind for kind, _ in answers(stranger)]
    assert kinds[-1:] == [Kind.REFUSED]
    assert set(kinds) <= {Kind.CHALLENGE, Kind.REFUSED}
    told(server, "refused 127.0.0.1:")
    assert listed(server.dialler()) == ["run"]


@pytest.mark.parametrize(
    "question",
    [
        {"ask": "gethead", "stream": "../../etc"},
        {"ask": "gethead", "stream": ".."},
        {"ask": "gethead", "stream": "run\0"},
        {"ask": "getblob", "digest": "sha256:../../../etc/passwd", "offset": 0},
        {"ask": "getsealed", "stream": "run", "first": -1, "tag": "0" * 64, "offset": 0},
        {"ask": "getunits", "stream": "run", "after": 1 << 70, "link": "0" * 32, "wait": False},
        {"ask": "done", "events": 1, "last": 1, "blobs": 0, "bytes": 0, "what": "x"},
        {"ask": "no such thing"},
    ],
)
def test_impossible_questions_end_the_connection(server: Serving, question: dict[str, object]) -> None:
    """Names and numbers of a peer are never trusted, also of one who has the token."""
    channel, _ = server.dialler().connect()
    with channel:
        channel.send(Kind.ASK, json.dumps(question).encode())
        with pytest.raises(Refused, match="not of this protocol"):
            channel.answered()
    assert listed(server.dialler()) == ["run"]


def test_a_known_peer_cannot_send_more_than_a_question(server: Serving) -> None:
    """Memory is bounded for those who have the token too."""
    channel, _ = server.dialler().connect()
    with channel:
        channel.send(Kind.ASK, b" " * (LIMITS[Kind.ASK] + 1))
        with pytest.raises((Refused, Unreachable)):
            channel.answered()
    told(server, "announced a frame of")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greeting's deadline, shorter, so that the test does not wait for it."""
    for module in ("server", "greeting"):
        monkeypatch.setattr(f"eventlog.mirror.{module}.GREETING_S", 1.0)


@pytest.mark.usefixtures("impatient")
def test_slow_strangers_delay_nobody(server: Serving) -> None:
    """Half frames, half handshakes and silence, twice as many as may be open, and a puller is served at once."""
    silent = []
    for number in range(2 * STRANGERS):
        connection = socket.create_connection(server.address, 5)
        if number % 3 == 0:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a handshake
        silent.append(connection)
    began = time.monotonic()
    assert listed(server.dialler()) == ["run"]
    assert time.monotonic() - began < 3
    with encrypted(server) as half:
        half.sendall(_HEAD.pack(Kind.HELLO, 100) + b"{")
        assert listed(server.dialler()) == ["run"]
        # And the half frame does not stay for ever.
        assert [kind for kind, _ in answers(half)] in ([], [Kind.REFUSED])
    for connection in silent:
        connection.close()


@pytest.mark.usefixtures("impatient")
def test_who_drips_is_shut_out_in_time(server: Serving) -> None:
    """A byte now and then keeps no stranger's connection open: the greeting has a deadline, not only a pace."""
    with encrypted(server) as dripping:
        began = time.monotonic()
        dripping.sendall(_HEAD.pack(Kind.HELLO, 1000))
        with contextlib.suppress(OSError):  # shut out
            while time.monotonic() - began < 6:
                dripping.sendall(b" ")
                threading.Event().wait(0.1)
        assert time.monotonic() - began < 4


def test_a_hostile_server_cannot_fill_memory_or_leave_its_folder(tmp_path: Path) -> None:
    """A puller believes its server no more than the server its puller."""
    from eventlog.mirror.channel import Channel
    from eventlog.mirror.remote import RemoteSource

    identity = Identity(tmp_path / "config")
    one = {"last": 1, "finished": True, "live": False}
    lies = [
        _HEAD.pack(Kind.ANSWER, 0xFFFFFFFF),
        _HEAD.pack(Kind.HELLO, 0),
        frame(Kind.ANSWER, {"answer": "piece", "size": 5, "bytes": 1 << 40}),
        frame(Kind.ANSWER, {"answer": "streamlist", "streams": [{"stream": "../x", **one}]}),
        frame(Kind.ANSWER, {"answer": "piece", "size": 5, "bytes": 3}) + _HEAD.pack(Kind.DATA, 4) + b"abcd",
        frame(Kind.ANSWER, {"answer": "linkat", "link": "0" * 32}),
    ]  # fmt: skip
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for lie in lies:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

            def answer(lie: bytes = lie) -> None:
                connection, _ = listener.accept()
                with identity.context.wrap_socket(connection, server_side=True) as wrapped:
                    wrapped.recv(1000)
                    wrapped.sendall(lie)
                    wrapped.recv(1)

            thread = threading.Thread(target=answer)
            thread.start()
            raw = socket.create_connection(listener.getsockname(), 5)
            with Channel(context.wrap_socket(raw), "liar") as channel, pytest.raises(BadPeer):
                RemoteSource(channel, "liar", "").streams()
            thread.join()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A token that leaked is no token; the line says how to mend it."""
    path = tmp_path / "token"
    path.write_text("x" * 43 + "\n", encoding="utf-8")
    path.chmod(mode)
    with pytest.raises(Exposed, match=f"mode {mode:04o}.*chmod 600"):
        tokens.load(path)
    path.chmod(0o600)
    assert tokens.load(path) == b"x" * 43


@pytest.mark.parametrize(
    "content", [b"", b"short\n", b"two words that are long enough to be one\n", b"\xff" * 40, b"x" * 300]
)
def test_what_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty token file must not mean that anybody may come in."""
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(MirrorError):
        tokens.load(path)


def test_secrets_are_made_private_and_once(tmp_path: Path) -> None:
    """A key or token that others could read for an instant is public; one that changes breaks every pin."""
    config = tmp_path / "made" / "mirror"
    token, identity = tokens.load_or_make(config / "token"), Identity(config)
    assert {p.name: p.stat().st_mode & 0o777 for p in config.iterdir()} == {
        "token": 0o600,
        "server.pem": 0o600,
    }
    assert config.stat().st_mode & 0o777 == 0o700
    assert tokens.load_or_make(config / "token") == token
    assert Identity(config).fingerprint == identity.fingerprint
    (config / "server.pem").chmod(0o644)
    with pytest.raises(Exposed, match="chmod 600"):
        Identity(config)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tls+tcp://lab", Address("lab", 4367)),
        ("tls+tcp://Lab:70", Address("lab", 70)),
        ("tls+tcp://[::1]", Address("::1", 4367)),
        ("tls+tcp://[fe80::1%eth0]:99", Address("fe80::1%eth0", 99)),
        ("tcp://lab", None),
        ("lab:70", None),
        ("tls+tcp://", None),
        ("tls+tcp://lab:0", None),
        ("tls+tcp://lab:70000", None),
        ("tls+tcp://::1", None),
        ("tls+tcp://a b", None),
        ("tls+tcp://user@lab", None),
    ],
)
def test_addresses(text: str, expected: Address | None) -> None:
    """A mistyped address must not become another host or another port."""
    if expected is None:
        with pytest.raises(BadAddress):
            parse(text)
    else:
        assert parse(text) == expected
        assert parse(str(expected)) == expected


def test_fingerprints_read_as_people_write_them() -> None:
    """What openssl prints and what we print name the same certificate."""
    digits = "0f" * 32
    colons = ":".join(["0F"] * 32)
    for text in (
        digits,
        f"sha256:{digits}",
        f"SHA256:{digits.upper()}",
        colons,
        f"sha256 Fingerprint={colons}",
    ):
        assert parse_fingerprint(text) == f"sha256:{digits}"
    for text in ("", "sha256:", "0f" * 31, f"md5:{digits}", f"{digits}00"):
        with pytest.raises(MirrorError, match="no fingerprint"):
            parse_fingerprint(text)
