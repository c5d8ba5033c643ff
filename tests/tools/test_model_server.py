"""The scripted model server over HTTP: three dialects, whole and streamed, faults, probes, and its journal."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard

pytest.importorskip("aiohttp", reason="needs aiohttp, which is not installed")

from tests.tools.wire import PATHS, Reply, ask, ended, request, send, served, serving
from tools.model_server.__main__ import main
from tools.model_server.script import load, parse
from tools.model_server.server import running

ROOT = Path(__file__).resolve().parents[2]
DIALECTS = sorted(PATHS)
TWO = """
turns:
  - reasoning: I think.
    text: Working on it.
    calls: [{action: terminal, arguments: {command: "ls -la"}}]
  - text: All done.
"""


def said(dialect: str, reply: Reply) -> tuple[str, str, str, dict[str, Any]]:
    """(text, reasoning, arguments of the first call, usage) of an answer, whole or streamed."""
    if reply.body[:1] == b"{":
        return _whole(dialect, reply.json)
    return _streamed(dialect, [e for e in reply.events if e != "[DONE]"])


def _whole(dialect: str, body: dict[str, Any]) -> tuple[str, str, str, dict[str, Any]]:
    if dialect == "chat":
        message = body["choices"][0]["message"]
        call = (message.get("tool_calls") or [{"function": {"arguments": ""}}])[0]["function"]["arguments"]
        return message["content"] or "", message.get("reasoning_content", ""), call, body["usage"]
    kinds = {"message": "", "reasoning": "", "function_call": "", "text": "", "thinking": "", "tool_use": ""}
    for item in body["output" if dialect == "responses" else "content"]:
        kind = item["type"]
        values = {
            "message": lambda i: i["content"][0]["text"],
            "reasoning": lambda i: i["summary"][0]["text"],
            "function_call": lambda i: i["arguments"],
            "text": lambda i: i["text"],
            "thinking": lambda i: i["thinking"],
            "tool_use": lambda i: json.dumps(i["input"], separators=(",", ":")),
        }
        kinds[kind] = values[kind](item)
    return (
        kinds["message"] or kinds["text"],
        kinds["reasoning"] or kinds["thinking"],
        kinds["function_call"] or kinds["tool_use"],
        body["usage"],
    )


def _streamed(dialect: str, events: list[dict[str, Any]]) -> tuple[str, str, str, dict[str, Any]]:
    if dialect == "chat":
        deltas = [e["choices"][0]["delta"] for e in events if e["choices"]]
        text = "".join(d.get("content") or "" for d in deltas)
        calls = "".join(c["function"]["arguments"] for d in deltas for c in d.get("tool_calls", ()))
        return (
            text,
            "".join(d.get("reasoning_content", "") for d in deltas),
            calls,
            events[-1].get("usage", {}),
        )
    if dialect == "responses":
        parts = [
            "".join(e["delta"] for e in events if e["type"] == f"response.{kind}.delta")
            for kind in ("output_text", "reasoning_summary_text", "function_call_arguments")
        ]
        return parts[0], parts[1], parts[2], events[-1]["response"]["usage"]
    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    parts = ["".join(d.get(kind, "") for d in deltas) for kind in ("text", "thinking", "partial_json")]
    usage = events[0]["message"]["usage"] | next(e["usage"] for e in events if e["type"] == "message_delta")
    return parts[0], parts[1], parts[2], usage


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_says_the_turn_in_every_dialect(dialect: str, stream: bool) -> None:
    """A part of a turn that gets lost in one dialect makes that dialect's harnesses look worse."""
    options = {"stream_options": {"include_usage": True}} if dialect == "chat" else {}
    with serving(TWO) as server:
        reply = ask(server, dialect, stream=stream, **options)
        entry = served(server)[0]
    text, reasoning, arguments, usage = said(dialect, reply)
    assert (text, reasoning, arguments) == ("Working on it.", "I think.", '{"command":"ls -la"}')
    assert reply.headers["Content-Type"].startswith("text/event-stream" if stream else "application/json")
    assert entry["usage_raw"] == usage
    assert entry["answer"]["finish"] == "tool_calls"
    assert entry["response_sha256"] == hashlib.sha256(reply.body).hexdigest()
    assert (entry["turn"], entry["attempt"], entry["ended"], entry["kind"]) == (1, 1, "complete", "model")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_token_is_an_event_of_its_own(dialect: str) -> None:
    """With many tokens in one event, times to first and last token and cut streams mean nothing."""
    with serving(TWO) as server:
        ask(server, dialect, stream=True)
        (entry,) = served(server)
    assert entry["tokens_sent"] == entry["usage"]["output_tokens"] == 20


def follow_up(dialect: str) -> dict[str, Any]:
    """The request after the first turn, with the result of its call."""
    body = request(dialect)
    if dialect == "responses":
        call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
        body["input"] = [
            {"role": "user", "content": "Do it."},
            {"type": "reasoning", "summary": []},
            call,
            output,
        ]
    elif dialect == "chat":
        call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        body["messages"] += [
            {"role": "assistant", "content": "Working.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ]
    else:
        body["messages"] += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
            {"role": "system", "content": "A reminder in the middle."},
        ]
    return body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_history_says_which_turn_is_asked_for(dialect: str) -> None:
    """A server that counted requests would mix up parallel trials, and retries with turns."""
    with serving(TWO) as server:
        second = send(server, PATHS[dialect], follow_up(dialect))
        first = ask(server, dialect)
        turns = [(entry["turn"], entry["attempt"]) for entry in served(server)]
    assert said(dialect, second)[0] == "All done."
    assert said(dialect, first)[0] == "Working on it."
    assert turns == [(2, 1), (1, 1)]


@pytest.mark.parametrize("after", ["repeat", "restart", "refuse"])
def test_what_comes_after_the_last_turn(after: str) -> None:
    """A script that ends in another way than it says makes a loop of a test for limits, or the other way round."""
    with serving(f"turns: [{{text: One.}}]\nafter_last: {after}") as server:
        reply = send(server, PATHS["chat"], follow_up("chat"))
    if after == "refuse":
        assert reply.status == 400
        assert "turn 2 was asked for" in reply.json["error"]["message"]
    else:
        assert said("chat", reply)[0] == "One."


def test_the_same_requests_get_the_same_bytes_from_every_server() -> None:
    """An answer that differs from run to run cannot be compared by its digest."""
    bodies = []
    for _ in range(2):
        with serving(TWO) as server:
            bodies.append([ask(server, d, stream=s).body for d in DIALECTS for s in (False, True)])
    assert bodies[0] == bodies[1]


def test_a_call_takes_the_tool_that_is_offered() -> None:
    """A script is written once for all harnesses: the name and the fields are the harness's own."""
    script = """
    turns:
      - calls:
          - any: [{name: exec_command, arguments: {cmd: ls}}, {name: BASH, arguments: {command: ls}}]
          - {name: bash, raw: "{not json"}
    """
    with serving(script) as server:
        calls = ask(server, "chat").json["choices"][0]["message"]["tool_calls"]
        refused = ask(server, "chat", tools=False)
    assert [(c["function"]["name"], c["function"]["arguments"]) for c in calls] == [
        ("bash", '{"command":"ls"}'),
        ("bash", "{not json"),
    ]
    assert refused.status == 200  # no tools at all: a side call


def test_a_call_that_no_tool_fits_is_a_clear_error() -> None:
    """Silence here would be a harness that waits for a call that never comes."""
    with serving("turns: [{calls: [{action: todo, arguments: {items: [a]}}]}]") as server:
        reply = ask(server, "messages")
        (entry,) = served(server)
    assert reply.status == 400
    assert reply.json["error"]["message"] == "the script calls todo; the request offers these tools: bash"
    assert entry["problem"] == reply.json["error"]["message"]


def test_usage_is_as_the_script_says_and_in_the_providers_own_words() -> None:
    """Every provider counts cached input in another way; whoever sums must be able to check it."""
    given = "{input: 1234, output: 56, cache_read: 1000, cache_write: 30, reasoning: 7}"
    with serving(f"turns: [{{text: Hi.}}]\nusage: {given}") as server:
        raw = {dialect: said(dialect, ask(server, dialect))[3] for dialect in DIALECTS}
        totals = send(server, "/_served", method="GET").json["totals"]
    assert raw["chat"]["prompt_tokens"] == raw["responses"]["input_tokens"] == 1234
    assert raw["chat"]["prompt_tokens_details"]["cached_tokens"] == 1000
    assert raw["responses"]["output_tokens_details"]["reasoning_tokens"] == 7
    assert raw["messages"] == {
        "input_tokens": 204,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 1000,
        "output_tokens": 56,
    }
    assert totals["told"] == {
        "answers": 3, "input_tokens": 3702, "cache_read_tokens": 3000, "cache_write_tokens": 90,
        "output_tokens": 168, "reasoning_tokens": 21,
    }  # fmt: skip


def test_usage_that_is_not_told_is_not_entered_as_told() -> None:
    """A stream without usage, and a model that gives none, are unknown to the client: not nought."""
    with serving("turns: [{text: Hi.}]\n") as server:
        reply = ask(server, "chat", stream=True)
        told = served(server)[0]
    assert all("usage" not in event for event in reply.events[:-1])
    assert told["usage"] is not None
    assert told["usage_raw"] is None
    with serving("turns: [{text: Hi., usage: null}]") as server:
        assert "usage" not in ask(server, "messages").json
        assert served(server)[0]["usage"] is None


def test_token_ids_and_logprobs_are_those_of_the_text() -> None:
    """The gateway records them beside the text; they must be as many as the tokens, streamed or not."""
    with serving("turns: [{text: Hello big world.}]\ntoken_ids: true") as server:
        whole = ask(server, "chat", logprobs=True).json
        chunks = ask(server, "chat", stream=True).events
    choice = whole["choices"][0]
    assert [t["token"] for t in choice["logprobs"]["content"]] == ["Hello", " big", " world", "."]
    streamed = [i for c in chunks[:-1] for i in c["choices"][0].get("token_ids", [])]
    assert streamed == choice["token_ids"]
    assert len(streamed) == 4
    assert chunks[0]["prompt_token_ids"] == whole["prompt_token_ids"] != []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("status", [401, 402, 429, 500, 529])
def test_a_refusal_has_its_status_and_its_dialects_form(status: int, dialect: str, stream: bool) -> None:
    """Harnesses decide by status and type whether to try again; another form sends them another way."""
    fault = f"{{kind: status, status: {status}, retry_after: 7, message: Enough., times: 1}}"
    with serving(f"turns: [{{text: Hi.}}]\nfaults: [{fault}]") as server:
        refused = ask(server, dialect, stream=stream)
        again = ask(server, dialect, stream=stream)
        entries = served(server)
    assert (refused.status, refused.headers["Retry-After"]) == (status, "7")
    assert refused.json["error"]["message"] == "Enough."
    assert (refused.json.get("type") == "error") is (dialect == "messages")
    assert again.status == 200
    assert [(e["attempt"], e["fault"], e["usage"] is None) for e in entries] == [
        (1, "status", True),
        (2, None, False),
    ]


def test_a_fault_can_be_for_one_turn() -> None:
    """Three calls and then an error is how budgets are tried; it must not hit the calls before."""
    with serving(TWO + "faults: [{kind: status, status: 400, turn: 2}]") as server:
        assert ask(server, "chat").status == 200
        assert send(server, PATHS["chat"], follow_up("chat")).status == 400


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cut_stream_breaks_off_and_says_no_end(dialect: str) -> None:
    """A stream that ended in order would be an answer, and not the failure that is to be tried."""
    with serving(TWO + "faults: [{kind: cut, after_tokens: 2}]") as server:
        reply = ask(server, dialect, stream=True)
        whole = ask(server, dialect)
        entries = served(server)
    assert not reply.whole
    assert not whole.whole
    assert entries[0]["tokens_sent"] == 2
    assert b"DONE" not in reply.body
    assert b"completed" not in reply.body
    assert b"message_stop" not in reply.body
    assert [(e["ended"], e["usage"]) for e in entries] == [("cut", None)] * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_other_faults_of_an_answer(dialect: str) -> None:
    """Each is a way in which models and providers fail; a fault that does nothing tries nothing."""
    with serving(TWO + "faults: [{kind: junk}]") as server:
        junk = ask(server, dialect)
        assert (junk.status, junk.body[:6]) == (200, b"<html>")
    with serving(TWO + "faults: [{kind: empty}]") as server:
        assert said(dialect, ask(server, dialect))[:3] == ("", "", "")
        assert served(server)[0]["usage"]["output_tokens"] == 0
    with serving(TWO + "faults: [{kind: length, after_tokens: 1}]") as server:
        reply = ask(server, dialect)
        stops = {
            "chat": '"finish_reason":"length"',
            "responses": '"max_output_tokens"',
            "messages": '"max_tokens"',
        }
        assert said(dialect, reply)[0] == "Workin"
        assert stops[dialect] in reply.body.decode()
    with serving(TWO + "faults: [{kind: malformed_arguments}]") as server:
        arguments = said(dialect, ask(server, dialect, stream=True))[2]
        assert arguments == '{"command"'
    with serving(TWO + "faults: [{kind: error_event, after_tokens: 1, message: Overloaded}]") as server:
        reply = ask(server, dialect, stream=True)
        assert reply.whole
        assert "Overloaded" in json.dumps(reply.events[-1])
        assert served(server)[0]["usage"] is None


def test_a_server_that_hangs_says_nothing_and_notices_that_the_client_went() -> None:
    """Limits are tried against it; an entry that stays open is a request that nobody counts."""
    with serving(TWO + "faults: [{kind: hang, turn: 1}, {kind: drop, turn: 2}]") as server:
        with pytest.raises(TimeoutError):
            ask(server, "chat", timeout=0.3)
        entry = ended(server)
        assert (entry["ended"], entry["status"], entry["response_bytes"]) == ("disconnected", None, 0)
        with pytest.raises(http.client.RemoteDisconnected):
            send(server, PATHS["chat"], follow_up("chat"))
        assert ended(server, 2)["ended"] == "cut"


def test_a_stall_sends_some_tokens_and_then_nothing() -> None:
    """It is how a time limit between tokens is told from one before the headers."""
    with serving(TWO + "faults: [{kind: stall, after_tokens: 2, seconds: 0.3}]") as server:
        began = time.monotonic()
        reply = ask(server, "messages", stream=True)
        assert time.monotonic() - began >= 0.3
        assert not reply.whole
        assert served(server)[0]["tokens_sent"] == 2


def test_a_client_that_goes_amid_a_stream_is_noticed() -> None:
    """Its cancel must reach the upstream: the test of that looks here."""
    with serving("turns: [{text: a b c d e f g h i j k l m n o p}]\npace: {tokens_per_second: 10}") as server:
        connection = http.client.HTTPConnection(urlsplit(server.base).netloc, timeout=5)
        connection.request("POST", PATHS["chat"], json.dumps(request("chat", stream=True)))
        connection.getresponse().read(10)
        connection.close()
        entry = ended(server)
    assert entry["ended"] == "disconnected"
    assert entry["tokens_sent"] < 16


def test_the_pace_is_kept() -> None:
    """Times to first byte, to first token and to last token are measured against it."""
    pace = "{headers_s: 0.1, first_token_s: 0.1, tokens_per_second: 50}"
    with serving(f"turns: [{{text: a b c d e f g h i j k}}]\npace: {pace}") as server:
        ask(server, "responses", stream=True)
        (entry,) = served(server)
    assert entry["first_token_s"] - entry["started_s"] >= 0.2
    assert entry["last_byte_s"] - entry["first_token_s"] >= 0.2 - 0.01


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "identity"])
def test_compressed_bodies_are_read(encoding: str) -> None:
    """A harness may compress what it sends; the server would answer 400 to a good request."""
    content = json.dumps(request("messages")).encode()
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}.get(
        encoding, bytes
    )(content)
    with serving(TWO) as server:
        reply = send(server, PATHS["messages"], packed, headers={"Content-Encoding": encoding})
        (entry,) = served(server)
    assert reply.status == 200
    assert (entry["request_bytes"], entry["request_encoding"]) == (len(packed), encoding)
    assert entry["request_sha256"] == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("body", "headers", "status", "said_of_it"),
    [
        (b"{", {}, 400, "the body is not JSON"),
        (b"[1]", {}, 400, "must be a JSON object"),
        (b'{"model": "m"}', {}, 400, "'messages' must be a list"),
        (b'{"model": "m", "messages": [1]}', {}, 400, "every message must be an object"),
        (b'{"model": "m", "messages": [{"role": "user"}], "tools": 7}', {}, 400, "another form"),
        (b'{"model": "m", "messages": [{"role": "user"}], "tools": [{"type": "x"}]}', {}, 400, "has no name"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', {}, 400, "model parameter"),
        (b"xx", {"Content-Encoding": "gzip"}, 400, "the body is not gzip"),
        (b"xx", {"Content-Encoding": "br"}, 415, "'br' is not known"),
        (gzip.compress(bytes(65 * 2**20)), {"Content-Encoding": "gzip"}, 413, "larger than"),
        (b"[" * 100_000, {}, 400, "the body is not JSON"),
    ],
    ids=["brace", "list", "empty", "message", "tools", "tool", "model", "gzip", "brotli", "bomb", "deep"],
)  # fmt: skip
def test_a_request_that_cannot_be_read_is_refused_and_kept(
    body: bytes, headers: dict[str, str], status: int, said_of_it: str
) -> None:
    """An odd request that made the server fail would be taken for a fault of the harness."""
    with serving("turns: [{text: Hi.}]") as server:
        reply = send(server, PATHS["chat"], body, headers=headers)
        (entry,) = served(server)
    assert reply.status == status
    assert said_of_it in reply.json["error"]["message"]
    assert entry["problem"] == reply.json["error"]["message"]
    assert entry["ended"] == "complete"


def test_probes_and_lists_are_answered() -> None:
    """Harnesses knock before they work; what is refused here stops some of them, or slows them down."""
    with serving(TWO) as server:
        answers = {
            (method, path): send(server, path, method=method).status
            for method, path in [
                ("GET", "/v1/models"), ("GET", "/t/0001/v1/models"), ("GET", "/v1/models/test-model"),
                ("HEAD", "/api/hello"), ("HEAD", "/"), ("GET", "/"),
                ("GET", "/api/v1/models"), ("GET", "/v1/models/other"), ("GET", "/props"),
                ("POST", "/api/show"), ("POST", "/v1/embeddings"), ("GET", "/v1/messages"),
            ]
        }  # fmt: skip
        counted = send(server, "/v1/messages/count_tokens", request("messages"))
        kinds = [entry["kind"] for entry in served(server)]
    assert list(answers.values()) == [200] * 6 + [404] * 5 + [405]
    assert counted.json["input_tokens"] > 0
    assert kinds == ["models"] * 3 + ["probe"] * 4 + [
        "unknown",
        "probe",
        "probe",
        "unknown",
        "probe",
        "count_tokens",
    ]


def test_many_requests_use_one_connection() -> None:
    """Harnesses keep their connection; one that is closed under them is a retry that nobody scripted."""
    with serving(TWO) as server:
        connection = http.client.HTTPConnection(urlsplit(server.base).netloc, timeout=5)
        ports = set()
        for dialect in DIALECTS * 2:
            connection.request("POST", PATHS[dialect], json.dumps(request(dialect, stream=dialect == "chat")))
            ports.add(connection.sock.getsockname()[1])
            connection.getresponse().read()
            connection.request("HEAD", "/api/hello")  # a body here would be read as the next answer's head
            connection.getresponse().read()
        connection.close()
    assert len(ports) == 1


def test_side_calls_are_told_apart() -> None:
    """A title that takes the first turn of the script shifts every turn after it."""
    with serving(TWO + "auxiliary: {models: [small], text: A title}") as server:
        untooled = ask(server, "chat", tools=False)
        small = ask(server, "messages", model="small")
        other = ask(server, "responses", tools=False)
        real = ask(server, "chat")
        kinds = [(entry["kind"], entry["turn"]) for entry in served(server)]
    assert said("chat", untooled)[0] == said("messages", small)[0] == said("responses", other)[0] == "A title"
    assert said("chat", real)[0] == "Working on it."
    assert kinds == [("auxiliary", None)] * 3 + [("model", 1)]


def test_a_side_call_that_asks_for_json_gets_json() -> None:
    """A title asked for as an object and given as a sentence makes the harness ask again."""
    schema = {
        "type": "object",
        "properties": {"isNew": {"type": "boolean"}, "title": {"type": "string"}},
        "required": ["isNew", "title"],
    }
    with serving(TWO) as server:
        reply = ask(
            server,
            "chat",
            tools=False,
            response_format={"type": "json_schema", "json_schema": {"schema": schema}},
        )
    assert json.loads(said("chat", reply)[0]) == {"title": "A short title", "isNew": False}


def test_no_key_is_kept_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    """The log of a test run is kept and shared; the gateway's exchange of keys is tested by this server."""
    log = tmp_path / "served.jsonl"
    with serving("turns: [{text: Hi.}]\naccept_key: sk-right-1\nrecord_bodies: true", log=log) as server:
        right = ask(server, "chat", headers={"Authorization": "Bearer sk-right-1"})
        wrong = ask(server, "chat", headers={"Authorization": "Bearer sk-wrong-1"})
        anthropic = ask(server, "messages", headers={"x-api-key": "sk-right-1"})
        none = ask(server, "messages")
        first, second = served(server)[:2]
        kept = json.dumps(served(server)) + log.read_text(encoding="utf-8")
    assert [r.status for r in (right, wrong, anthropic, none)] == [200, 401, 200, 401]
    assert none.json["error"]["type"] == "authentication_error"
    assert first["key"] != second["key"]
    assert "sk-right" not in kept
    assert "sk-wrong" not in kept
    assert first["request_body"]["messages"] == [{"role": "user", "content": "Do it."}]


def test_sessions_are_told_apart_by_path_key_and_task() -> None:
    """A fault for the first try of each trial must not be used up by another trial."""
    with serving(
        "turns: [{text: Hi.}]\nfaults: [{kind: status, times: 1}]\nsession_header: x-trial"
    ) as server:
        statuses = [
            ask(server, "chat", "/t/1").status,
            ask(server, "chat", "/t/2").status,
            ask(server, "chat", "/t/1", text="Another.").status,
            ask(server, "chat", "/t/1", headers={"x-api-key": "k"}).status,
            ask(server, "chat", "/t/1").status,
            ask(server, "chat", "/t/1", headers={"X-Trial": "7"}).status,
            ask(server, "chat", "/t/2", headers={"X-Trial": "7"}).status,
        ]
        assert send(server, "/_reset").json == {"reset": True}
        statuses.append(ask(server, "chat", "/t/1").status)
        (entry,) = served(server)
    assert statuses == [500, 500, 500, 500, 200, 500, 200, 500]
    assert (entry["number"], entry["prefix"]) == (1, "/t/1")


def test_the_log_has_a_line_for_every_request(tmp_path: Path) -> None:
    """What a test reads after the server is gone is this file."""
    log = tmp_path / "served.jsonl"
    with serving(TWO + "faults: [{kind: hang, turn: 2}]", log=log) as server:
        ask(server, "chat", stream=True)
        with pytest.raises(TimeoutError):
            send(server, PATHS["chat"], follow_up("chat"), timeout=0.2)
        expected = [ended(server, 1), ended(server, 2)]
    assert [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] == expected


@pytest.mark.parametrize("name", ["edit", "hello", "loop", "solver", "saboteur"])
def test_the_bundled_scripts_can_be_named(name: str) -> None:
    """A script that cannot be loaded is found by whoever runs the demo."""
    with running(load(name)) as server:
        assert ask(server, "chat").status == 200


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("turns: []", "needs one at least"),
        ("mode: solver\nturns: [{text: x}]", "leave them out"),
        ("turns: [{txt: x}]", "unknown field `txt`"),
        ("turns: [{calls: [{}]}]", "exactly one of"),
        ("turns: [{calls: [{action: fly}]}]", "no action 'fly'"),
        ("turns: [{text: x}]\nfaults: [{kind: status, status: 200}]", "none of a failure"),
        ("turns: [{text: x}]\nfaults: [{kind: wobble}]", "Invalid enum value"),
        ("turns: [{text: x}]\nfaults: [{kind: cut, after_tokens: -1}]", "0 or more"),
        ("turns: [", "this is not YAML"),
        ("- 1", "Expected `object`"),
    ],
)
def test_a_script_that_is_wrong_is_refused(script: str, complaint: str) -> None:
    """A misspelt field that is ignored is a fault that never comes."""
    with pytest.raises(ValueError, match=complaint):
        parse(script)


def test_the_command_prints_its_address_and_stops_when_asked(tmp_path: Path) -> None:
    """Tests and demos start it like this: a first line that is no JSON, or a process that stays, breaks them."""
    log = tmp_path / "served.jsonl"
    command = [
        sys.executable,
        "-m",
        "tools.model_server",
        "--script",
        "hello",
        "--log",
        str(log),
        "--fault",
        "empty",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=5)
        connection.request("POST", PATHS["chat"], json.dumps(request("chat")))
        assert connection.getresponse().status == 200
        connection.close()
        process.terminate()
        assert process.wait(10) == 0
    (line,) = log.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["fault"] == "empty"
    assert told["openai"] == told["base_url"] + "/v1"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--script", "no-such"], "none of the bundled scripts (edit, hello, loop, saboteur, solver)"),
        (["--host", "0.0.0.0"], "0.0.0.0 is not a loopback address"),
    ],
)
def test_the_command_refuses_what_it_cannot_use(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that listens to the network, or a traceback for a typing error, is no tool to hand on."""
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "schema",
    [
        [1],
        {"properties": [1], "required": 7},
        {"properties": {"command": 3, "mode": {"enum": 4}}, "required": ["mode", 5]},
        {"properties": {"command": {"type": ["null", "string"]}}},
        None,
    ],
)
def test_an_odd_schema_of_a_tool_still_gets_a_call(schema: Any) -> None:
    """Harnesses send what their plugins declare; a server that fails at it looks like a provider that is down."""
    tool = {"type": "function", "function": {"name": "bash", "parameters": schema}}
    with serving(TWO) as server:
        reply = send(server, PATHS["chat"], request("chat", tools=False) | {"tools": [tool]})
    (call,) = reply.json["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"])["command"] == "ls -la"


def test_a_lone_surrogate_does_no_harm(tmp_path: Path) -> None:
    """JSON can hold what UTF-8 cannot: a model's name like that must not end the log."""
    log = tmp_path / "served.jsonl"
    with serving(TWO + "record_bodies: true", log=log) as server:
        body = request("responses", "\ud800", stream=True) | {"model": "m\udfff"}
        reply = send(server, PATHS["responses"], body)
        assert reply.events[-1]["response"]["model"] == "m?"
    (line,) = log.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["ended"] == "complete"
