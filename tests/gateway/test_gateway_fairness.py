"""What a harness may do to others at its gateway, to its own budget and to its own verdict: no more than is fair."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from eventlog.schemas.conversation import MessageRecorded, ToolCalled, ToolReturned
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from hemra.gateway import conversation, recording
from hemra.gateway.budget import MOST_OPEN
from hemra.gateway.conversation import Conversation, same_model
from hemra.gateway.normal import Answer, Message, Request, Tool, ToolCall
from hemra.gateway.verdict import End, Ends
from tests.gateway.conftest import Heard, Rig, Trial, answering, reply, saying
from tests.gateway.test_gateway_record import TURNS, two_turns
from tests.tools.wire import PATHS, request, serving

HELLO = "turns: [{text: hi}]\nusage: {input: 100, output: 20}"
BASH = (Tool(name="bash", definition={"name": "bash"}),)


def _request(*messages: Message, tools: tuple[Tool, ...] = BASH) -> Request:
    return Request(model="test-model", stream=False, parameters={}, tools=tools, messages=messages)


def _result(wire: str, text: str = "r") -> Message:
    return Message(role="tool", text=text, answers=wire)


@pytest.mark.parametrize("wires", [[f"x{n}" for n in range(15_000)], ["a"] * 15_000, [""] * 15_000])
def test_results_are_joined_in_one_walk(wires: list[str]) -> None:
    """Thousands of results of calls that nobody made held up all other trials for many seconds."""
    talk = Conversation("test-model")
    talk.request("c1", _request(Message(role="user", text="Do it.")))
    calls = (ToolCall(id="a", name="bash", arguments={}), ToolCall(id="b", name="bash", arguments={}))
    talk.answer("c1", Answer(calls=calls, complete=True))
    said = Message(role="assistant", text="", calls=calls)
    messages = [Message(role="user", text="Do it."), said, *map(_result, wires)]
    begun = time.thread_time()
    seen = talk.request("c2", _request(*messages))
    assert time.thread_time() - begun < 2.0  # a walk for every one takes a minute
    assert len(seen.results) == (0 if wires[0].startswith("x") else 1 if wires[0] else 2)


def test_results_that_share_an_id_are_answered_in_their_order() -> None:
    """Some endpoints give all calls of a turn one id, or none; their results would be the first one's."""
    for wire in ("a", ""):
        talk = Conversation("test-model")
        talk.request("c1", _request(Message(role="user", text="Do it.")))
        calls = tuple(ToolCall(id=wire, name=f"t{n}", arguments={"n": n}) for n in range(3))
        talk.answer("c1", Answer(calls=calls, complete=True))
        said = Message(role="assistant", text="", calls=calls)
        results = [_result(wire, f"r{n}") for n in range(3)]
        seen = talk.request("c2", _request(Message(role="user", text="Do it."), said, *results))
        assert [(each.name, each.result) for each in seen.results] == [(f"t{n}", f"r{n}") for n in range(3)]


def test_a_conversation_without_end_holds_up_nobody(rig: Rig) -> None:
    """What is too long to be read goes on unread, and is told so, while other trials are served."""
    messages = [{"role": "tool", "tool_call_id": f"x{n}", "content": "r"} for n in range(40_000)]
    with serving(HELLO) as server:
        trial, slowed = rig.admit(server.base), rig.admit(server.base, latency_ms={"bash": 1})
        body = json.dumps({"model": "test-model", "messages": messages}).encode()
        stalls: list[float] = []
        over = threading.Event()

        def look() -> None:
            while not over.is_set():
                begun = time.monotonic()
                rig.until(lambda: True)
                stalls.append(time.monotonic() - begun)
                over.wait(0.01)

        looking = threading.Thread(target=look)
        looking.start()
        assert trial.send(PATHS["chat"], body, timeout=30).status == 200
        over.set()
        looking.join(10)
        assert slowed.send(PATHS["chat"], body, timeout=30).json["error"]["code"] == "conversation_unread"
    assert max(stalls) < 2.0
    assert "conversation_unread" in trial.channel.flags
    assert trial.of(MessageRecorded) == []
    assert trial.channel.budget.made()["turns"] == 1


def test_a_trial_s_memory_of_messages_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """New conversations without end would fill the engine's memory."""
    monkeypatch.setattr(conversation, "MOST_PLACES", 3)
    talk = Conversation("test-model")
    asked = [_request(Message(role="user", text=f"Q{n}")) for n in range(4)]
    for n, each in enumerate(asked[:3]):
        assert talk.readable(each)
        talk.request(f"c{n}", each)
    assert not talk.readable(asked[3])


def test_what_is_refused_is_not_recorded(rig: Rig) -> None:
    """A harness over its budget could fill the log and the disk with what it asks in vain."""
    kept: list[bytes] = []

    def blob(body: bytes) -> str:
        kept.append(body)
        return "sha256:" + "0" * 64

    for limits in (Limits(calls=1), Limits(turns=1)):
        with serving(HELLO) as server:
            trial = rig.admit(server.base, limits=limits, blob=blob)
            assert trial.ask("chat", text="Question").status == 200
            kept.clear()
            assert trial.ask("chat", text="In vain", stream=True).status == 400
        trial.settled(2)
        assert "In vain" not in repr(trial.events)
        assert not any(b"In vain" in body for body in kept)
        asked = trial.asked[1]
        assert (asked.context, asked.tools, asked.body, asked.parameters) == (None, None, None, {})
        assert trial.answers[1].ended == "refused"


def test_a_full_record_takes_no_more_and_the_trial_goes_on(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """One harness could fill the disk of all; or its calls would stop, or stop to count."""
    monkeypatch.setattr(recording, "MOST_SAID", 5_000)
    monkeypatch.setattr(recording, "MOST_BODIES", 2_000)
    with serving(TURNS) as server:
        trial = rig.admit(server.base, blob=lambda _: "sha256:" + "0" * 64)
        assert trial.ask("chat", text="x" * 6_000).status == 200
        two_turns(trial, "chat")
    trial.settled(3)
    assert "record_full" in trial.channel.flags
    assert "xxxx" not in repr(trial.events)
    assert (trial.channel.calls, len(trial.answers)) == (3, 3)
    assert [call.arguments for call in trial.of(ToolCalled)][-1] is None
    assert [each.result for each in trial.of(ToolReturned)] == [None, None]
    assert all(each.body is None for each in (*trial.asked[1:], *trial.answers[1:]))


def test_messages_that_hash_alike_are_told_apart() -> None:
    """A message that is taken for another is missing in the record, and what follows it in the wrong place."""
    talk = Conversation("test-model")
    for n, value in enumerate([-1, -2, 1, 1.0, True, "1", None, [], {}, [[]], [{}], ""]):
        call = ToolCall(id="x", name="bash", arguments={"n": value})
        said = Message(role="assistant", text="", calls=(call,))
        seen = talk.request(f"c{n}", _request(Message(role="user", text="Do it."), said))
        assert len(seen.added) == (1 if n else 2), value


def test_the_tree_keeps_no_text() -> None:
    """Every trial's whole conversation would stay in memory for as long as the trial runs."""
    talk = Conversation("test-model")
    talk.request("c1", _request(Message(role="user", text="a very long text")))
    place = next(iter(talk._lineage.root.children.values()))
    assert place.form is not None
    assert place.form.text is None


def _stream(trial: Trial, text: str) -> http.client.HTTPConnection:
    """A call that is open: its head has come."""
    connection = http.client.HTTPConnection(urlsplit(trial.root).netloc, timeout=10)
    body = json.dumps({**request("chat", text=text), "stream": True}).encode()
    head = {"Authorization": f"Bearer {trial.token}", "Content-Type": "application/json"}
    connection.request("POST", urlsplit(trial.root).path + PATHS["chat"], body, head)
    return connection


class _Slow:
    """An endpoint whose answers say some pieces, and then wait for leave to end."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces
        self.go = threading.Event()

    def __call__(self, connection: socket.socket, _: Heard) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        piece = {"id": "1", "choices": [{"index": 0, "delta": {"content": "word "}}]}
        sent = f"data: {json.dumps(piece)}\n\n" * self.pieces
        end = {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        try:
            connection.sendall((head + sent).encode())
            self.go.wait(10)
            connection.sendall(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
        except OSError:
            pass  # the harness is gone


def test_what_open_calls_have_said_counts_at_once(rig: Rig) -> None:
    """Calls at the same time would all pass a budget of tokens that one of them has used up."""
    slow = _Slow(30)
    with saying(slow) as endpoint:
        trial = rig.admit(endpoint.base, limits=Limits(output_tokens=30))
        first = _stream(trial, "one")
        rig.until(lambda: any(each.pieces >= 30 for each in trial.channel.open.values()))
        (call,) = trial.channel.open.values()
        assert call.asked.request is not None
        assert (call.asked.request.messages, call.asked.plain) == ((), b"")  # not held while it is answered
        assert trial.ask("chat", text="two").status == 400
        slow.go.set()
        answer = first.getresponse().read()
        assert b"[DONE]" in answer  # what is under way is never cut
        first.close()
    assert trial.channel.fired is not None
    assert (trial.channel.fired.name, trial.channel.fired.measured) == ("output_tokens", 30)


def test_only_a_few_calls_are_open_under_a_budget_of_tokens(rig: Rig) -> None:
    """Fifty calls at a time pass a budget fiftyfold before one of them has told what it used."""
    slow = _Slow(1)
    with saying(slow) as endpoint:
        trial = rig.admit(endpoint.base, limits=Limits(tokens=1000))
        connections = [_stream(trial, f"q{n}") for n in range(MOST_OPEN + 3)]
        rig.until(lambda: len(trial.channel.open) == MOST_OPEN + 3 and len(endpoint.heard) == MOST_OPEN)
        assert sum(each.counted for each in trial.channel.open.values()) == MOST_OPEN
        slow.go.set()
        assert [each.getresponse().status for each in connections] == [200] * len(connections)
        assert len(endpoint.heard) == MOST_OPEN + 3
        for each in connections:
            each.close()


@pytest.mark.parametrize("limits", [Limits(turns=1), Limits(output_tokens=5), Limits(cost_usd=0.05)])
def test_an_answer_that_was_left_is_paid_for(rig: Rig, limits: Limits) -> None:
    """A harness that reads an answer and hangs up before its end would never use anything up."""

    class Prices:
        label = "test (2026-01-01)"

        def cost(self, model: str | None, usage: Usage | None) -> float | None:
            return None if usage is None or usage.output_tokens is None else usage.output_tokens / 100

    slow = _Slow(6)
    with saying(slow) as endpoint:
        trial = rig.admit(endpoint.base, limits=limits, prices=Prices())
        connection = _stream(trial, "one")
        rig.until(lambda: any(each.pieces >= 6 for each in trial.channel.open.values()))
        assert connection.sock is not None
        connection.sock.close()
        connection.close()
        (answer,) = trial.settled()
        slow.go.set()
        assert (answer.ended, answer.usage) == ("disconnected", None)
        assert trial.ask("chat", text="two").status == 400
    assert "usage_unknown" in trial.channel.flags
    assert (trial.channel.usage, trial.channel.lost_usage, trial.channel.cost_usd) == (None, None, None)


def test_another_name_is_no_way_around_turns(rig: Rig) -> None:
    """The same model under its dated name, or a better one, would do the whole task beside the limit."""
    assert same_model("claude-x", "claude-x-20260101")
    assert same_model("provider/m1-2026-01-01", "m1")
    assert not same_model("m1", "m1-mini")
    with serving(HELLO) as server:
        trial = rig.admit(server.base, limits=Limits(turns=2))
        models = ("test-model-2026-01-01", "better-model", "better-model")
        statuses = [trial.ask("chat", text=f"Q{n}", model=m).status for n, m in enumerate(models)]
    assert statuses == [200, 200, 400]
    assert [asked.auxiliary for asked in trial.asked[:2]] == [None, "other_model"]


def test_many_side_calls_are_flagged(rig: Rig) -> None:
    """A harness can have its thinking done beside its turns; a reader should know."""
    with serving(HELLO) as server:
        trial = rig.admit(server.base)
        trial.ask("chat")
        for n in range(8):
            assert "many_side_calls" not in trial.channel.flags, n
            trial.ask("chat", text=f"Title {n}", tools=False)
    assert "many_side_calls" in trial.channel.flags


def _verdict(*ends: End, stopped: bool = False, wall: float | None = None) -> str | None:
    said = Ends(wall)
    for end in ends:
        said.add(end)
    return said.verdict(stopped=stopped, fired=False)[0]


GOOD = End("complete", status=200)


def test_a_key_refused_with_a_400_is_a_refused_key() -> None:
    """A wrong key would look like an endpoint that is down, and be tried again for nothing."""
    error = {"error": {"message": "API key not valid. Please pass a valid API key."}}
    assert _verdict(End("error", status=400, error=error)) == "auth_error"


@pytest.mark.parametrize("status", [400, 404, 405, 413, 415, 422])
def test_a_bad_request_launders_no_failure(status: int) -> None:
    """A harness that failed would end with a request that nobody can serve, and be tried again until it passes."""
    wrong = End("error", status=status, error={"error": {"message": "insufficient_quota"}})
    assert _verdict(GOOD, wrong) is None
    assert _verdict(End("error", status=status, unread=True)) is None
    # The endpoint's own failure before it stays one; and what never served may be set up wrongly.
    assert _verdict(GOOD, End("error", status=500), wrong) == "provider_error"
    assert _verdict(wrong) == ("quota_error" if status == 400 else "provider_error")
    for own, outcome in (
        (401, "auth_error"),
        (402, "quota_error"),
        (429, "provider_error"),
        (500, "provider_error"),
    ):
        assert _verdict(GOOD, End("error", status=own)) == outcome


def test_quota_is_told_by_few_statuses() -> None:
    """Words in any failure would make a harness's own mistake the account's."""
    words = {"error": {"message": "insufficient_quota"}}
    assert _verdict(GOOD, End("error", status=429, error=words)) == "quota_error"
    assert _verdict(GOOD, End("error", status=500, error=words)) == "provider_error"
    assert _verdict(GOOD, End("error", status=400, error=words)) is None


def test_silence_at_the_same_time_counts_once() -> None:
    """Five calls that are left together after two seconds would be ten seconds of silence."""
    together = [End("disconnected", silent_s=8.0, at=100.0 + n / 10) for n in range(5)]
    assert _verdict(GOOD, *together) is None
    in_a_row = [End("disconnected", silent_s=12.0, at=100.0 + 12 * n) for n in range(3)]
    assert _verdict(GOOD, *in_a_row) == "provider_error"
    assert _verdict(GOOD, End("disconnected", silent_s=12.0, at=100.0)) is None
    assert _verdict(GOOD, End("disconnected", silent_s=12.0, at=100.0), wall=20) == "provider_error"


def test_a_bad_last_request_is_flagged_and_no_provider_s_fault(rig: Rig) -> None:
    """The rule has to hold where the calls come from, not only where they are judged."""
    bad = reply(b'{"error": {"message": "no such model"}}', "404 Not Found")
    good: dict[str, Any] = {
        "id": "1", "model": "test-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    }  # fmt: skip

    def speak(connection: socket.socket, heard: Heard) -> None:
        answering(bad if b"Nonsense" in heard.body else reply(json.dumps(good).encode()))(connection, heard)

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        assert trial.ask("chat").status == 200
        assert trial.ask("chat", text="Nonsense").status == 404
    trial.settled(2)
    trial.close()
    assert trial.channel.verdict(stopped=False) == (None, None)
    assert "bad_request" in trial.channel.flags


def test_a_harness_that_does_not_read_is_not_kept_waiting(rig: Rig) -> None:
    """It would stop reading, and its own silence be the endpoint's."""
    piece = {"id": "1", "choices": [{"index": 0, "delta": {"content": "x" * 60_000}}]}

    def speak(connection: socket.socket, _: Heard) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError):  # given up
            connection.sendall(head + b"data: %s\n\n" % json.dumps(piece).encode() * 500)

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base, limits=Limits(wall_seconds=0.2))
        connection = _stream(trial, "one")
        rig.until(lambda: any(each.passing for each in trial.channel.open.values()))
        (exchange,) = trial.channel.open.values()
        rig.until(lambda: exchange.passing and exchange.now() - exchange._heard_ns > 0.4e9)
        assert exchange.silent_s == 0.0
        trial.close()
        connection.close()
    assert trial.channel.verdict(stopped=True) == (None, None)


def test_a_side_model_s_calls_are_no_acts(rig: Rig) -> None:
    """A harness could have any other model write the tool calls that its trial is judged by."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        first = request("chat", model="small-model")
        answer = trial.send(PATHS["chat"], first).json["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": c["id"], "content": "done"} for c in answer["tool_calls"]]
        own = request("chat")
        own["messages"] += [answer, *results]
        trial.send(PATHS["chat"], own)
    named = trial.settled(2)[0]
    assert named.calls == [call["id"] for call in answer["tool_calls"]]
    assert trial.of(ToolCalled) == []
    assert trial.of(ToolReturned) == []
