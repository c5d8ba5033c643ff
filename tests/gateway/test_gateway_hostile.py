"""What a hostile harness or endpoint sends must neither slip past the task's rules nor take the run down."""

from __future__ import annotations

import gzip
import resource
import socket
import sys
import threading
import tracemalloc
import types
import zlib

import pytest
import zstandard

from eventlog.schemas.runs import Limits
from hemra.gateway import connections, decoding
from hemra.gateway.decoding import Undecodable, decoded
from hemra.gateway.normal import SamplingWish
from tests.gateway.conftest import KEY, Heard, Rig, Trial, answering, reply, saying
from tests.tools.wire import request

CHAT = "/v1/chat/completions"
OK = answering(reply(b"{}"))


@pytest.mark.parametrize(
    "path",
    [
        CHAT + "#/count_tokens",
        CHAT + ";/count_tokens",
        CHAT + "%23/count_tokens",
        CHAT + "%3b/count_tokens",
        CHAT + "%3f/count_tokens",
        "/v1/chat%252Fcompletions",
        "/v1/..;/admin",
        "/v1/%00",
    ],
)
def test_a_target_that_two_servers_read_differently_is_refused(rig: Rig, path: str) -> None:
    """It would be judged as one path and answered as another: a completion that no budget counts."""
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.send(path, request("chat"))
    assert (got.status, got.json["error"]["code"]) == (400, "bad_target")
    assert endpoint.heard == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1//chat/completions"),
        ("POST", "/v1/chat%2Fcompletions"),
        ("POST", "/v1/%63hat/completions/"),
        ("POST", "/v1/Chat/Completions"),
        ("PUT", CHAT),
        ("GET", CHAT),
        ("POST", CHAT + "?a=/count_tokens"),
        ("POST", CHAT + "/count_tokens"),
    ],
)
def test_whatever_may_reach_a_model_counts(rig: Rig, method: str, path: str) -> None:
    """A harness that writes the path in another way would have calls for nothing."""
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base, limits=Limits(calls=1))
        trial.send(path, request("chat"), method=method)
        assert trial.settled()[0].status == 200
        assert trial.channel.calls == 1
    if not path.endswith("/count_tokens"):
        assert trial.asked[0].dialect == "chat"


def test_only_the_counting_of_tokens_is_free(rig: Rig) -> None:
    """Either real harnesses would lose calls to it, or any path that ends so would be free."""
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        trial.send("/v1/messages/count_tokens?beta=true", request("messages"))
        assert trial.channel.calls == 0
        trial.send("/v1/files/count_tokens", request("messages"))
        assert trial.channel.calls == 1


def _many_members(size: int) -> bytes:
    return gzip.compress(bytes(1 << 20)) * (size >> 20)


def _wide_zstd(size: int) -> bytes:
    parameters = zstandard.ZstdCompressionParameters(window_log=25, write_content_size=0)
    return zstandard.ZstdCompressor(compression_params=parameters).compress(bytes(size))


BOMBS = {
    "gzip": ("gzip", lambda size: gzip.compress(bytes(size))),
    "gzip members": ("gzip", _many_members),
    "deflate": ("deflate", lambda size: zlib.compress(bytes(size))),
    "zstd": ("zstd", lambda size: zstandard.ZstdCompressor().compress(bytes(size))),
    "zstd frames": ("zstd", lambda size: zstandard.ZstdCompressor().compress(bytes(1 << 20)) * (size >> 20)),
    "packed twice": ("gzip, gzip", lambda size: gzip.compress(gzip.compress(bytes(size)))),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_takes_no_more_memory_than_the_cap(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes of a harness would take the memory of the whole run."""
    monkeypatch.setattr(decoding, "LARGEST", 1 << 20)
    encoding, pack = BOMBS[kind]
    bomb = pack(48 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(Undecodable, match="more than 1 MiB"):
            decoded(bomb, encoding)
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("limits", [True, False])
def test_brotli_is_held_to_the_cap_in_any_version(limits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older packages take no limit: one feed of a few kilobytes would unpack to gigabytes."""
    given: list[int] = []

    class Decompressor:
        if limits:
            can_accept_more_data = True

        def process(self, chunk: bytes, output_buffer_limit: int = 1 << 40) -> bytes:
            given.append(len(chunk))
            return bytes(min(len(chunk) << 10, output_buffer_limit))

    fake = types.SimpleNamespace(Decompressor=Decompressor, error=ValueError)
    monkeypatch.setitem(sys.modules, "brotli", fake)
    monkeypatch.setattr(decoding, "readable", lambda: frozenset({"br"}))
    monkeypatch.setattr(decoding, "LARGEST", 1 << 20)
    assert len(decoded(bytes(1000), "br")) == 1000 << 10
    with pytest.raises(Undecodable, match="more than 1 MiB"):
        decoded(bytes(1 << 20), "br")
    assert max(given) <= (64 << 10 if limits else 32)


def test_a_window_that_no_client_needs_is_refused() -> None:
    """The window alone is memory that a frame's first bytes ask for."""
    with pytest.raises(Undecodable, match="memory"):
        decoded(_wide_zstd(40 << 20), "zstd")


def test_members_without_content_are_not_unpacked_for_ever() -> None:
    """Millions of empty members would hold the loop of all trials."""
    with pytest.raises(Undecodable, match="members"):
        decoded(gzip.compress(b"") * 20_000, "gzip")


def test_encodings_around_encodings_are_refused() -> None:
    """Each one is an unpacker with memory of its own."""
    with pytest.raises(Undecodable, match="encodings"):
        decoded(b"", "gzip, " * 50)


UNREADABLE = {
    "an encoding": (b"{}", {"Content-Encoding": "compress"}),
    "JSON": (b'{"model": ', {}),
    "a number": (b'{"model": "m", "max_tokens": ' + b"9" * 5000 + b"}", {}),
    "its size": (gzip.compress(bytes(2 << 20)), {"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_flagged_and_evades_no_rule(
    rig: Rig, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packed request would keep forbidden tools, its own sampling, and be no part of any budget of tokens."""
    monkeypatch.setattr(decoding, "LARGEST", 1 << 20)
    body, headers = UNREADABLE[what]
    ruled = {"sampling": SamplingWish(seed=1)}, {"strip_tools": True}, {"limits": Limits(tokens=99)}
    with saying(OK) as endpoint:
        for rule in ruled:
            trial = rig.admit(endpoint.base, **rule)
            got = trial.send(CHAT, body, headers=headers)
            assert (got.status, got.json["error"]["code"]) == (400, "request_unreadable"), rule
            assert trial.channel.flags == ["request_unread"]
            assert trial.settled()[0].ended == "refused"
        assert endpoint.heard == []
        free = rig.admit(endpoint.base)
        assert free.send(CHAT, body, headers=headers).status == 200
        assert endpoint.heard[0].body == body
        free.settled()
        assert "request_unread" in free.channel.flags


def _connect(rig: Rig, count: int = 1) -> list[socket.socket]:
    at = rig.gateway.endpoint
    return [socket.create_connection((at.host, at.port), timeout=5) for _ in range(count)]


def _ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it; waits for that."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _head(trial: Trial, path: str = "/health") -> bytes:
    path = trial.root.partition("://")[2].partition("/")[2] + path
    return f"GET /{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {trial.token}\r\n\r\n".encode()


def test_connections_without_a_word_never_take_all_there_is(rig: Rig) -> None:
    """The engine would have no descriptors left, and every trial of the run would end."""
    assert rig.gateway.connections.most * 2 < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    rig.gateway.connections.most = 8
    trial = rig.admit(None)
    known = _connect(rig)[0]
    known.sendall(_head(trial))
    assert known.recv(1000).startswith(b"HTTP/1.1 200")
    silent = _connect(rig, 20)
    try:
        assert all(_ended(one) for one in silent[:13])
        assert trial.send("/health", method="GET").status == 200
        known.sendall(_head(trial))  # it had said who it is, and may stay
        assert known.recv(1000).startswith(b"HTTP/1.1 200")
        assert len(rig.gateway.connections._open) <= 8
    finally:
        for one in (known, *silent):
            one.close()


def test_a_trial_s_idle_connections_give_way_to_others(rig: Rig) -> None:
    """A harness that keeps connections would lock the other trials out."""
    rig.gateway.connections.most = 4
    greedy, other = rig.admit(None), rig.admit(None)
    kept = _connect(rig, 4)
    for one in kept:
        one.sendall(_head(greedy))
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
    assert other.send("/health", method="GET").status == 200
    assert _ended(kept[0])
    for one in kept:
        one.close()


def test_who_does_not_say_who_it_is_in_time_is_closed(rig: Rig) -> None:
    """Heads that come a byte at a time would hold connections for hours."""
    rig.gateway.connections.head_s = 0.1
    trial = rig.admit(None)
    silent, slow, wrong, known = _connect(rig, 4)
    slow.sendall(b"GET /t/0001/v1/mod")
    wrong.sendall(b"GET /t/0001/v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert wrong.recv(1000).startswith(b"HTTP/1.1 401")
    known.sendall(_head(trial))
    assert known.recv(1000).startswith(b"HTTP/1.1 200")
    assert all(_ended(one) or not one.recv(1000) for one in (silent, slow))
    known.sendall(_head(trial))
    assert known.recv(1000).startswith(b"HTTP/1.1 200")
    for one in (silent, slow, wrong, known):
        one.close()


def test_a_trial_has_only_so_many_requests_under_way(rig: Rig) -> None:
    """One harness would have all connections of the process to itself."""
    rig.gateway.connections.in_flight = 1
    asked, go = threading.Event(), threading.Event()

    def speak(connection: socket.socket, heard: Heard) -> None:
        asked.set()
        go.wait(5)
        OK(connection, heard)

    with saying(speak) as endpoint:
        trial, other = rig.admit(endpoint.base), rig.admit(endpoint.base)
        first = threading.Thread(target=trial.ask, args=("chat",))
        first.start()
        assert asked.wait(5)
        got = trial.ask("messages")
        assert (got.status, got.json["type"], got.headers["Retry-After"]) == (429, "error", "1")
        go.set()
        first.join(5)
        assert other.ask("chat").status == trial.ask("chat").status == 200


def test_the_limit_of_descriptors_is_only_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with many trials would stop at 1024; one with a higher limit must not get a lower one."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, limits: told.append(limits))
    for limits, most in (
        ((1024, 4096), 1024),
        ((50_000, 60_000), 4096),
        ((512, 512), 128),
        ((1024, -1), 4096),
    ):
        monkeypatch.setattr(connections.resource, "getrlimit", lambda _, limits=limits: limits)
        assert connections.room() == most
    assert told == [(4096, 4096), (16384, -1)]


def test_what_is_no_http_is_not_told_on_the_terminal(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    """A harness could fill the user's terminal with tracebacks."""
    junk = (
        b"\x16\x03\x01\x02\x00",
        b"GET /\x00 HTTP/9.9\r\n\r\n",
        _head(rig.admit(None))[:-2] + b"bad\r\n\r\n",
    )
    for sent in junk:
        with _connect(rig)[0] as connection:
            connection.sendall(sent + b"\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.")
    assert rig.gateway.malformed.count > 0
    out = capfd.readouterr()
    assert out.out == out.err == ""


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_methods_that_tell_what_came_are_not_passed_on(rig: Rig, method: str) -> None:
    """The endpoint would send the user's key back to the harness."""
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base)
        assert trial.send("/v1/models", method=method).status == 405
        assert endpoint.heard == []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _no_tls(connection: socket.socket) -> socket.socket:
    """What a server without TLS says to one who begins with it."""
    with connection:
        connection.recv(65536)
        connection.sendall(reply(b"", "400 Bad Request"))
    raise ConnectionAbortedError


def test_why_nobody_answers_is_told_in_words(rig: Rig) -> None:
    """A user would read Python's objects and addresses, other ones in every run, and not what to mend."""
    port = _free_port()
    for host in ("127.0.0.1", "localhost"):
        told = rig.admit(f"http://{host}:{port}/v1").ask("chat").json["error"]["message"]
        cause = "connection refused (is base_url http or https?)"
        assert told == f"cannot connect to {host}:{port}: {cause}"
    told = rig.admit("https://nobody.invalid/v1").ask("chat").json["error"]["message"]
    assert told == "cannot connect to nobody.invalid:443: the host's name is not known"
    with saying(OK, secure=_no_tls) as endpoint:
        plain = endpoint.base.removeprefix("http://")
        told = rig.admit(f"https://{plain}").ask("chat").json["error"]["message"]
    cause = "it does not speak TLS, or not as it should (is base_url http or https?)"
    assert told == f"cannot connect to {plain}: {cause}"
    with saying(answering(b"\x15\x03\x01 no HTTP\r\n\r\n")) as endpoint:
        told = rig.admit(endpoint.base).ask("chat").json["error"]["message"]
    assert told.endswith("(is base_url http or https?)")
    assert "b'" not in told
    assert "URL(" not in told


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "404 Not Found"])
@pytest.mark.parametrize("packed", [False, True])
def test_an_endpoint_that_repeats_the_key_tells_it_to_nobody(rig: Rig, status: str, packed: bool) -> None:
    """A harness would ask a debugging path of its endpoint for the user's key."""

    def speak(connection: socket.socket, heard: Heard) -> None:
        body = b"you sent " + heard.headers["authorization"].encode() + b" here"
        given = {"X_Echo": heard.headers["authorization"], "Location": f"/elsewhere?key={KEY}"}
        if packed:
            body, given = gzip.compress(body), {**given, "Content_Encoding": "gzip"}
        connection.sendall(reply(body, status, **given))

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        for got in (trial.send("/v1/echo", method="GET"), trial.ask("chat")):
            assert got.status == int(status[:3])
            assert got.whole
            assert got.body.startswith(b"you sent Bearer [redacted]")
            assert got.body.endswith(b" here")
            assert KEY not in repr(got.headers)
            assert got.headers["X-Echo"] == "Bearer [redacted]"


def test_a_key_in_two_pieces_of_a_stream_is_found(rig: Rig) -> None:
    """A stream would tell the key where a whole answer does not; and no piece may wait for the next one."""
    went = threading.Event()

    def speak(connection: socket.socket, _: Heard) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        connection.sendall(head + b"data: 1\n\n")
        went.wait(5)
        connection.sendall(b"data: " + KEY[:9].encode())
        connection.sendall(KEY[9:].encode() + b"\n\ndata: " + KEY[:4].encode())

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        with _connect(rig)[0] as connection:
            connection.sendall(_head(trial, "/v1/stream"))
            got = b""
            while b"data: 1\n\n" not in got:
                got += connection.recv(1000)
            went.set()
            while piece := connection.recv(1000):
                got += piece
                if got.endswith(b"0\r\n\r\n"):
                    break
    assert KEY.encode() not in got
    assert b"[redacted]" in got
    assert KEY[:4].encode() in got.replace(b"\r\n", b"")  # the end of the answer is no key


def test_a_short_key_changes_no_answer(rig: Rig) -> None:
    """Local endpoints have keys like `ollama`, which a model may well speak of."""
    body = b'{"id": "x", "text": "ollama"}'
    with saying(answering(reply(body))) as endpoint:
        assert rig.admit(endpoint.base, key="ollama").ask("chat").body == body


def test_a_rule_that_cannot_be_put_into_a_request_lets_it_through_nowhere(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that can be read and not written anew would keep its own sampling, unseen."""

    def fails(*_: object) -> None:
        raise ValueError("not here")

    monkeypatch.setattr("hemra.gateway.dialects.chat.ChatDialect.put_sampling", fails)
    with saying(OK) as endpoint:
        trial = rig.admit(endpoint.base, sampling=SamplingWish(seed=1))
        for _ in range(22):
            got = trial.ask("chat")
        assert got.status == 400
        assert endpoint.heard == []
    assert trial.channel.refused == 22
    assert trial.channel.over.is_set()  # it would not stop by itself


def test_a_packed_answer_that_breaks_off_is_passed_on_broken(rig: Rig) -> None:
    """Half an answer that waited to be searched would come as a whole one, or not at all."""
    packed = gzip.compress(b'{"id": "x"}')
    whole = reply(packed, Content_Encoding="gzip")
    with saying(answering(whole[:-4])) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.ask("chat")
    assert (got.whole, got.body) == (False, packed[:-4])
    answer = trial.settled()[0]
    assert (answer.ended, answer.error) == ("cut", "the connection ended before the answer did")
