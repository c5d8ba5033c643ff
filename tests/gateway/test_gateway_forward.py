"""What passes through the gateway is what the other side said, and it passes at once."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import http.client
import json
import os
import socket
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard

from hemra.gateway.forward import Relayed
from hemra.gateway.upstream import target
from tests.gateway.conftest import KEY, Heard, Rig, Trial, answering, reply, saying
from tests.tools.wire import PATHS, ask, ended, request, send, serving
from tools.model_server.journal import fingerprint

SPEECH = """
turns:
  - reasoning: Let me think about it.
    text: "Grüße, 世界 🙂. I will run it."
    calls: [{action: terminal, arguments: {command: echo hello}}]
usage: {input: 100, output: 20, cache_read: 60, reasoning: 5}
"""
DIALECTS = ("chat", "responses", "messages")
#: What the scripted server says depends on the key; directly it is asked with the same one.
AS_KEY = {"Authorization": f"Bearer {KEY}"}


def sha(data: bytes) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_bodies_are_identical_both_ways(rig: Rig, dialect: str, stream: bool) -> None:
    """One byte that differs and a harness is measured with something that its model did not say."""
    with serving(SPEECH) as server:
        fields: dict[str, Any] = {"stream": True} if stream else {}
        direct = ask(server, dialect, headers=AS_KEY, **fields)
        send(server, "/_reset")  # else it is the second try, which has another id
        trial = rig.admit(server.base)
        through = trial.ask(dialect, **fields)
        assert (through.status, through.body) == (direct.status, direct.body)
        entry = ended(server)
    body = json.dumps(request(dialect, **fields)).encode()
    assert (entry["request_sha256"], entry["request_bytes"]) == (sha(body), len(body))
    assert entry["response_sha256"] == sha(through.body)
    assert trial.asked[0].digest == f"sha256:{sha(body)}"
    (answer,) = trial.settled()
    assert (answer.digest, answer.bytes) == (f"sha256:{sha(through.body)}", len(through.body))
    assert answer.ended == "complete"


def test_headers_are_those_of_the_endpoint(rig: Rig) -> None:
    """A harness reads limits and request ids out of headers; one of ours among them would be a lie."""
    said = reply(
        b"{}", "207 Odd But Fine", X_Request_Id="r-1", Set_Cookie="a=1", Date="yesterday", Server="theirs",
        Keep_Alive="timeout=5",
    ).replace(b"Set-Cookie: a=1\r\n", b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n")  # fmt: skip
    with saying(answering(said)) as endpoint:
        trial = rig.admit(endpoint.base)
        raw = _raw(
            trial, "GET", "/v1/things?q=a%2Fb&q=", {"X-Mine": "yes", "Connection": "x-mine, keep-alive"}
        )
    head = raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert head[0] == "HTTP/1.1 207 Odd But Fine"
    assert sorted(head[1:]) == sorted(
        [
            "Content-Type: application/json", "Content-Length: 2", "X-Request-Id: r-1", "Set-Cookie: a=1",
            "Set-Cookie: b=2", "Date: yesterday", "Server: theirs",
        ]
    )  # fmt: skip
    heard = endpoint.heard[0]
    assert heard.line == "GET /v1/things?q=a%2Fb&q= HTTP/1.1"
    assert "x-mine" not in heard.headers


def test_nothing_is_added_to_an_answer(rig: Rig) -> None:
    """A date or a server's name that the endpoint did not send is ours."""
    bare = b"HTTP/1.1 200 OK\r\nX-Only: this\r\nContent-Length: 2\r\n\r\n{}"
    with saying(answering(bare)) as endpoint:
        trial = rig.admit(endpoint.base)
        assert _raw(trial, "POST", "/v1/messages", {}) == bare


def _raw(trial: Trial, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """All bytes of an answer, on a connection of its own that is half closed by nobody."""
    host = urlsplit(trial.root)
    given = {"Host": host.netloc, "Authorization": f"Bearer {trial.token}", "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (given | headers).items())
    with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
        connection.sendall(f"{method} {host.path}{path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        return _all(connection)


def _all(connection: socket.socket) -> bytes:
    """What comes until a response with a length or in chunks is whole, or the connection ends."""
    data = b""
    while piece := connection.recv(65536):
        data += piece
        head, mark, body = data.partition(b"\r\n\r\n")
        low = head.lower()
        if mark and b"content-length: " in low:
            length = int(low.partition(b"content-length: ")[2].split(b"\r\n")[0])
            if len(body) >= length:
                break
        elif mark and body.endswith(b"0\r\n\r\n"):
            break
    return data


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("given", ["Authorization", "x-api-key", "api-key"])
def test_the_real_key_is_put_where_the_dialect_wants_it(rig: Rig, dialect: str, given: str) -> None:
    """A harness that puts its token elsewhere would reach the endpoint without a key, or with its token."""
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(endpoint.base)
        token = f"Bearer {trial.token}" if given == "Authorization" else trial.token
        trial.send(PATHS[dialect], request(dialect), headers={"Authorization": "", given: token})
    (heard,) = endpoint.heard
    got = {n: v for n, v in heard.headers.items() if n in ("authorization", "x-api-key", "api-key")}
    assert got == ({"x-api-key": KEY} if dialect == "messages" else {"authorization": f"Bearer {KEY}"})
    assert trial.token not in heard.head


def test_headers_of_the_endpoint_s_file_are_sent(rig: Rig) -> None:
    """An endpoint that wants a version or an organisation would refuse every call."""
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(endpoint.base, headers={"anthropic-version": "2026-01-01", "X-Org": "lab"})
        trial.ask("messages", headers={"anthropic-version": "2023-06-01"})
        plain = rig.admit(endpoint.base, key=None)
        plain.ask("chat")
    first, second = endpoint.heard
    assert (first.headers["anthropic-version"], first.headers["x-org"]) == ("2026-01-01", "lab")
    assert "authorization" not in second.headers  # a server of one's own needs none


@pytest.mark.parametrize(
    ("base", "tail", "url"),
    [
        ("https://api.one.test/v1", "/v1/chat/completions", "https://api.one.test/v1/chat/completions"),
        (
            "https://api.one.test/v1/",
            "/v1/chat/completions?a=b",
            "https://api.one.test/v1/chat/completions?a=b",
        ),
        ("https://api.two.test", "/v1/messages?beta=true", "https://api.two.test/v1/messages?beta=true"),
        ("https://three.test/api/v1", "/v1/responses", "https://three.test/api/v1/responses"),
        ("https://three.test/api/v1", "/api/v1/models", "https://three.test/api/api/v1/models"),
        ("https://four.test/paas/v4", "/v1/chat/completions", "https://four.test/paas/v4/chat/completions"),
        ("https://five.test/v1beta", "/v1", "https://five.test/v1beta"),
        ("https://six.test/anthropic", "/v1/messages", "https://six.test/anthropic/v1/messages"),
        ("https://seven.test/v1?api-version=2", "/v1/x?y=1", "https://seven.test/v1/x?api-version=2&y=1"),
        ("https://eight.test/v1", "/v1beta/models", "https://eight.test/v1beta/models"),
        ("http://[::1]:8000/v1", "/v1/models/a%2Fb", "http://[::1]:8000/v1/models/a%2Fb"),
    ],
)
def test_where_a_request_goes(base: str, tail: str, url: str) -> None:
    """Providers end their base URL with a version or without one, and harnesses always say /v1."""
    assert target(base, tail) == url


def test_what_is_packed_stays_packed_and_is_read_all_the_same(rig: Rig) -> None:
    """Real endpoints compress; a gateway that unpacks changes bytes, one that cannot read records nothing."""
    with serving(SPEECH) as server:
        plain = ask(server, "chat", stream=True, stream_options={"include_usage": True}).body
    packers = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.ZstdCompressor().compress,
        "identity": bytes,
    }
    for encoding, pack in packers.items():
        packed = pack(plain)
        said = reply(packed, Content_Type="text/event-stream", Content_Encoding=encoding)
        with saying(answering(said)) as endpoint:
            trial = rig.admit(endpoint.base)
            through = trial.ask("chat", stream=True, headers={"Accept-Encoding": f"{encoding}, br;q=0.5"})
        assert through.body == packed, encoding
        assert through.headers["Content-Encoding"] == encoding
        assert "br" not in endpoint.heard[0].headers["accept-encoding"], encoding
        (answer,) = trial.settled()
        assert (answer.ended, answer.finish_reason, answer.usage.input_tokens) == (
            "complete",
            "tool_calls",
            100,
        )


def test_packed_requests_go_on_as_they_came(rig: Rig) -> None:
    """An endpoint that gets other bytes than the harness sent may refuse them."""
    with serving(SPEECH) as server:
        trial = rig.admit(server.base)
        for encoding, pack in (("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)):
            packed = pack(json.dumps(request("chat", encoding)).encode())
            got = trial.send(PATHS["chat"], packed, headers={"Content-Encoding": encoding})
            assert got.status == 200
        entries = [ended(server, number) for number in (1, 2)]
    assert [entry["request_encoding"] for entry in entries] == ["gzip", "zstd"]
    assert [event.model for event in trial.asked] == ["test-model"] * 2
    assert [event.digest for event in trial.asked] == [f"sha256:{e['request_sha256']}" for e in entries]


def test_every_piece_is_passed_on_when_it_comes(rig: Rig) -> None:
    """A gateway that waits for more makes every first token late."""
    pieces = [b"data: {}\n\n", b": ping\n\n", b"x", b"data: [DONE]\n\n"]
    go = [threading.Event() for _ in pieces]

    def speak(connection: socket.socket, _: Heard) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for event, piece in zip(go, pieces, strict=True):
            event.wait(10)
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        connection = http.client.HTTPConnection(urlsplit(trial.root).netloc, timeout=10)
        connection.request(
            "POST", urlsplit(trial.root).path + PATHS["chat"], json.dumps(request("chat", stream=True)),
            {"Authorization": f"Bearer {trial.token}"},
        )  # fmt: skip
        response = connection.getresponse()  # the head comes before any of the body
        for event, piece in zip(go, pieces, strict=True):
            event.set()
            assert response.read1(100) == piece
        assert response.read() == b""
        connection.close()


def test_a_harness_that_goes_ends_the_call_at_the_endpoint(rig: Rig) -> None:
    """A model that goes on answering nobody costs money."""
    with serving("turns: [{text: one two three four five}]\npace: {tokens_per_second: 0.5}") as server:
        trial = rig.admit(server.base)
        with pytest.raises(TimeoutError):
            trial.ask("chat", stream=True, timeout=0.4)
        began = time.monotonic()
        entry = ended(server)
        assert (entry["ended"], time.monotonic() - began < 1) == ("disconnected", True)
    (answer,) = trial.settled()
    assert (answer.ended, answer.status) == ("disconnected", 200)
    assert answer.bytes > 0


def test_a_harness_that_goes_before_the_answer_ends_the_call_too(rig: Rig) -> None:
    """The same while the model thinks: most of a call's time is before its first byte."""
    with serving("turns: [{text: hi}]\nfaults: [{kind: hang}]") as server:
        trial = rig.admit(server.base)
        with pytest.raises(TimeoutError):
            trial.ask("messages", timeout=0.3)
        assert ended(server)["ended"] == "disconnected"
    (answer,) = trial.settled()
    assert (answer.ended, answer.status, answer.first_byte_ns) == ("disconnected", None, None)


def test_an_answer_that_breaks_off_breaks_off_here_too(rig: Rig) -> None:
    """Ended in order, half an answer looks like a whole one, and some harnesses then ask without end."""
    for said, body in (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", b"half"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n9\r\nmo", b"halfmo"),
    ):
        with saying(answering(said)) as endpoint:
            trial = rig.admit(endpoint.base)
            got = trial.ask("chat", stream=True)
        assert (got.status, got.body, got.whole) == (200, body, False)
        (answer,) = trial.settled()
        assert (answer.ended, answer.bytes) == ("cut", len(body))


def test_what_had_come_before_it_broke_is_passed_on(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a slow reader is waited for the rest comes in and the connection breaks: the rest was said all the same."""
    write = Relayed.write

    async def slow(self: Relayed, data: bytes) -> None:
        await asyncio.sleep(0.3)
        await write(self, data)

    def speak(connection: socket.socket, _: Heard) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nfirst ")
        while not trial.channel.open["m1"].first_byte_ns:
            time.sleep(0.01)
        connection.sendall(b"and second")

    monkeypatch.setattr(Relayed, "write", slow)
    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.ask("chat")
    assert (got.body, got.whole, trial.settled()[0].bytes) == (b"first and second", False, 16)


def test_a_connection_that_closes_without_an_answer_closes_here_too(rig: Rig) -> None:
    """An answer of our own in its place would be an answer that no model gave."""
    with saying(lambda connection, _: None) as endpoint:
        trial = rig.admit(endpoint.base)
        with pytest.raises(http.client.RemoteDisconnected):
            trial.ask("chat")
    (answer,) = trial.settled()
    assert (answer.ended, answer.status, answer.digest) == ("cut", None, None)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_endpoint_that_is_not_there_is_told_in_the_dialect(rig: Rig, dialect: str) -> None:
    """A harness that cannot read the error shows a riddle instead of the cause."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    trial = rig.admit(f"http://127.0.0.1:{port}")
    got = trial.ask(dialect)
    assert got.status == 502
    assert str(port) in got.json["error"]["message"]
    (answer,) = trial.settled()
    assert (answer.ended, answer.status) == ("unreachable", None)
    assert trial.channel.verdict(stopped=False)[0] == "provider_error"


def test_silence_is_ended(rig: Rig) -> None:
    """Some harnesses wait for ever; the trial would end as if its model had failed at the task."""
    with serving("turns: [{text: hi}]\nfaults: [{kind: hang}]") as server:
        trial = rig.admit(server.base, idle_s=0.2)
        got = trial.ask("messages")
        assert (got.status, got.json["type"]) == (504, "error")
    with serving("turns: [{text: one two three four five six seven}]\nfaults: [{kind: stall}]") as server:
        stalled = rig.admit(server.base, idle_s=0.2)
        got = stalled.ask("chat", stream=True)
        assert (got.status, got.whole) == (200, False)
    for each in (trial, stalled):
        assert each.settled()[0].ended == "timeout"
        assert each.channel.verdict()[0] == "provider_error"


def test_a_redirect_is_passed_on_and_not_followed(rig: Rig) -> None:
    """The key would leave for another host."""
    with saying(answering(reply(b"{}"))) as other:
        moved = reply(b"", "307 Temporary Redirect", Location=f"{other.base}/v1/chat/completions")
        with saying(answering(moved)) as endpoint:
            got = rig.admit(endpoint.base).ask("chat")
        assert (got.status, got.headers["Location"]) == (307, f"{other.base}/v1/chat/completions")
        assert other.heard == []


def test_unknown_paths_go_on_and_are_recorded(rig: Rig) -> None:
    """An embedding or a file upload is part of what a harness did."""
    with saying(answering(reply(b'{"data": []}'))) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.send("/v1/embeddings?x=1", {"model": "e", "input": "a"})
        assert got.json == {"data": []}
        for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS"):
            trial.send("/v1/files/f1", method=method)
    assert endpoint.heard[0].line == "POST /v1/embeddings?x=1 HTTP/1.1"
    first = trial.asked[0]
    assert (first.dialect, first.auxiliary, first.path, first.method) == (
        None, "probe", "/v1/embeddings?x=1", "POST",
    )  # fmt: skip
    assert [event.method for event in trial.asked[1:]] == ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"]
    assert [answer.ended for answer in trial.settled(6)] == ["complete"] * 6
    assert (trial.channel.calls, trial.channel.failed) == (1, 0)  # what may have cost something


def test_probes_are_answered_here(rig: Rig) -> None:
    """What agents knock at before they begin must not fail them, nor reach the endpoint."""
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(endpoint.base)
        assert trial.send("/api/hello", method="HEAD").status == 200
        assert trial.send("/", method="GET").status == 200
        assert trial.send("/api/v1/models", method="GET").status == 404
        assert trial.send("/api/show", {"name": "x"}).status == 404
        # Without a key, as some of them come:
        assert trial.send("/api/hello", method="HEAD", headers={"Authorization": ""}).status == 200
        assert endpoint.heard == []
        assert trial.send("/v1/models/test-model", method="GET").status == 200
        assert len(endpoint.heard) == 1
    assert {event.auxiliary for event in trial.asked} == {"probe"}
    assert len(trial.asked) == 5
    assert trial.channel.calls == 0


def test_the_head_alone_is_passed_on(rig: Rig) -> None:
    """HEAD has the length of a body that does not follow; waiting for that body would hang the harness."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nConnection: close\r\n\r\n"
    with saying(answering(head)) as endpoint:
        trial = rig.admit(endpoint.base)
        got = trial.send("/v1/models", method="HEAD")
    assert (got.status, got.headers["Content-Length"], got.body) == (200, "1234", b"")


def test_only_a_trial_s_own_token_opens_its_path(rig: Rig) -> None:
    """One trial could spend another's budget, or write into its record."""
    with serving("turns: [{text: hi}]") as server:
        one, other = rig.admit(server.base), rig.admit(server.base)
        for bad in ("", "Bearer ", "Bearer nonsense", f"Bearer {other.token}", f"Basic {one.token}"):
            got = one.ask("messages", headers={"Authorization": bad})
            assert (got.status, got.json["error"]["type"]) == (401, "authentication_error"), bad
        loose = Trial(rig, one.channel, one.root.rpartition("/")[0] + "/9999", one.token, [])
        assert loose.ask("chat").status == 401
        assert one.ask("chat").status == 200
        one.close()
        assert one.ask("chat").status == 401
        assert len(server.journal.entries) == 1
    assert rig.gateway.refused == 7
    assert other.events == []


def test_no_path_leads_out_of_a_trial(rig: Rig) -> None:
    """Steps up would reach other parts of the endpoint's host, with the user's key."""
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(f"{endpoint.base}/anthropic")
        for tail in ("/../admin", "/v1/%2e%2e/%2e%2e/admin", "/v1/./x", "/v1/..%2fadmin"):
            assert b" 401 " in _raw(trial, "GET", tail, {})[:20]
        absolute = f"GET {endpoint.base}/v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {trial.token}\r\n\r\n"
        host = urlsplit(trial.root)
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            connection.sendall(absolute.encode())
            assert b" 401 " in _all(connection)[:20]
    assert endpoint.heard == []


def test_a_request_in_chunks_or_with_a_question_first_is_taken(rig: Rig) -> None:
    """curl asks before it sends much, and some clients do not know how much they send."""
    body = json.dumps(request("chat", "x" * 2_000_000)).encode()
    with saying(answering(reply(b"{}"))) as endpoint:
        trial = rig.admit(endpoint.base)
        host = urlsplit(trial.root)
        head = f"POST {host.path}/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {trial.token}\r\n"
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            connection.sendall(body)
            assert b" 200 " in _all(connection)[:20]
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            assert b" 200 " in _all(connection)[:20]
    assert [sha(heard.body) for heard in endpoint.heard] == [sha(body)] * 2
    assert [(event.bytes, event.messages) for event in trial.asked] == [(len(body), 1)] * 2


def test_a_key_that_the_endpoint_repeats_does_not_reach_the_harness(rig: Rig) -> None:
    """Some servers quote the key that they refuse; the harness and its model would then know it."""
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    for encoding, packed in (("identity", body), ("gzip", gzip.compress(body))):
        with saying(answering(reply(packed, "401 Unauthorized", Content_Encoding=encoding))) as endpoint:
            trial = rig.admit(endpoint.base)
            got = trial.ask("chat")
        assert got.json == {"error": {"message": "Incorrect API key provided: [redacted]"}}
        assert trial.settled()[0].status == 401
        assert KEY not in repr(trial.events)
        assert trial.channel.verdict() == (
            "auth_error", "HTTP 401: Incorrect API key provided: [redacted]",
        )  # fmt: skip


def test_failures_pass_as_they_came(rig: Rig) -> None:
    """A harness decides by the status, the body and Retry-After whether to try again."""
    with serving("turns: [{text: hi}]\nfaults: [{kind: status, status: 429, retry_after: 7}]") as server:
        direct, trial = ask(server, "messages"), rig.admit(server.base)
        through = trial.ask("messages")
    assert (through.status, through.body, through.headers["Retry-After"]) == (429, direct.body, "7")
    (answer,) = trial.settled()
    assert (answer.ended, answer.status, answer.error) == ("error", 429, direct.json)


def test_many_streams_at_once(rig: Rig) -> None:
    """64 trials' streams at one gateway must not be mixed up, nor wait for each other."""
    with serving("turns: [{text: one two three four five six}]\npace: {tokens_per_second: 20}") as server:
        trials = [rig.admit(server.base, key=f"{KEY}-{number}") for number in range(64)]
        began = time.monotonic()
        with ThreadPoolExecutor(64) as pool:
            asked = [
                pool.submit(trial.ask, DIALECTS[number % 3], stream=True, timeout=60)
                for number, trial in enumerate(trials)
            ]
            replies = [each.result() for each in asked]
        took = time.monotonic() - began
        said = {entry.key: entry.response_sha256 for entry in server.journal.entries}
    for number, (trial, got) in enumerate(zip(trials, replies, strict=True)):
        assert sha(got.body) == said[fingerprint(f"{KEY}-{number}")]
        assert [(a.ended, a.digest) for a in trial.settled()] == [("complete", f"sha256:{sha(got.body)}")]
    assert len(set(said.values())) == 64
    assert took < 10 * max(1.0, os.getloadavg()[0] / 2)


def test_a_large_answer_to_a_slow_reader_is_not_held_in_memory(rig: Rig) -> None:
    """An endpoint faster than its reader would fill the memory of the run."""
    size, sent = 64 << 20, [0]

    def speak(connection: socket.socket, _: Heard) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size >> 16):
            connection.sendall(bytes(1 << 16))
            sent[0] += 1 << 16

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        host = urlsplit(trial.root)
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            head = f"GET {host.path}/v1/files/1 HTTP/1.1\r\nHost: a\r\nx-api-key: {trial.token}\r\n\r\n"
            connection.sendall(head.encode())
            before = -1
            while before != sent[0]:  # until it stands still
                before = sent[0]
                time.sleep(0.3)
            assert 0 < sent[0] < size // 2
            got = 0
            while got < size:
                got += len(connection.recv(1 << 20))
    assert trial.settled()[0].bytes == size
