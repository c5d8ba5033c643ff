"""What is recorded of a conversation is what was said, once, with what it used and when."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelRequested,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from hemra.gateway.dialects import DIALECTS
from hemra.gateway.normal import AnswerReader
from tests.gateway.conftest import KEY, Heard, Rig, Trial, saying
from tests.tools.wire import PATHS, ended, request, serving

NAMES = ("chat", "responses", "messages")
TURNS = """
turns:
  - reasoning: Let me think about it.
    text: I will run it.
    calls:
      - {action: terminal, arguments: {command: echo hello}}
      - {action: terminal, arguments: {command: echo world}}
  - text: "All done."
usage: {input: 100, output: 20, cache_read: 60, reasoning: 5}
token_ids: true
"""


def follow(
    dialect: str, answer: dict[str, Any], results: list[str], before: dict[str, Any]
) -> dict[str, Any]:
    """The next request: what was said so far, the answer, and what its tools gave back."""
    body = json.loads(json.dumps(before))
    if dialect == "chat":
        message = answer["choices"][0]["message"]
        body["messages"].append(message)
        for call, result in zip(message["tool_calls"], results, strict=True):
            body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": result})
    elif dialect == "messages":
        body["messages"].append({"role": "assistant", "content": answer["content"]})
        uses = [part for part in answer["content"] if part["type"] == "tool_use"]
        parts = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": result}
            for use, result in zip(uses, results, strict=True)
        ]
        body["messages"].append({"role": "user", "content": parts})
    else:
        said = (
            [{"role": "user", "content": body["input"]}] if isinstance(body["input"], str) else body["input"]
        )
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        outputs = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": result}
            for call, result in zip(calls, results, strict=True)
        ]
        body["input"] = [*said, *answer["output"], *outputs]
    return body


def two_turns(trial: Trial, dialect: str) -> None:
    """A whole small conversation."""
    first = request(dialect)
    answer = trial.send(PATHS[dialect], first).json
    last = trial.send(PATHS[dialect], follow(dialect, answer, ["hello", "world"], first))
    assert last.status == 200


@pytest.mark.parametrize("dialect", NAMES)
def test_a_conversation_is_recorded_once_and_joined(rig: Rig, dialect: str) -> None:
    """Every harness is judged by these events: a call without its result, or a message twice, is a false trace."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        two_turns(trial, dialect)
    trial.settled(2)
    said = [(e.role, e.text) for e in trial.of(MessageRecorded)]
    assert said == [("user", "Do it."), ("assistant", "I will run it."), ("assistant", "All done.")]
    calls, returned = trial.of(ToolCalled), trial.of(ToolReturned)
    assert [(c.name, c.arguments, c.turn) for c in calls] == [
        ("bash", {"command": "echo hello"}, 1),
        ("bash", {"command": "echo world"}, 1),
    ]
    assert [(r.call, r.name, r.result) for r in returned] == [
        (calls[0].call, "bash", "hello"),
        (calls[1].call, "bash", "world"),
    ]
    first, second = trial.asked
    assert (first.call, second.call) == ("m1", "m2")
    assert (first.known, first.messages, len(first.added)) == (0, 1, 1)
    assert (second.known, second.messages, len(second.added)) == (2, 4, 2)
    assert first.tools == second.tools
    assert [len(e.tools_offered or []) for e in trial.asked] == [1, 0]
    answer = trial.answers[0]
    assert answer.calls == [c.call for c in calls]
    assert answer.message == trial.of(MessageRecorded)[1].key
    assert trial.of(MessageRecorded)[1].call == "m1"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", NAMES)
def test_usage_is_what_the_endpoint_served(rig: Rig, dialect: str, stream: bool) -> None:
    """Tokens and their cost are compared between harnesses from these figures."""
    fields: dict[str, Any] = {"stream": stream}
    if stream and dialect == "chat":
        fields["stream_options"] = {"include_usage": True}
    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        trial.ask(dialect, **fields)
        trial.ask(dialect, text="And more.", **fields)
        trial.settled(2)
        entries = [ended(server, number) for number in (1, 2)]
    served, raw = [entry["usage"] for entry in entries], [entry["usage_raw"] for entry in entries]
    told = [msgspec.to_builtins(answer.usage) for answer in trial.answers]
    for mine, theirs in zip(told, served, strict=True):
        assert theirs is not None
        # The Messages dialect does not tell reasoning apart, the chat dialect not what was written to a cache.
        assert {n: v for n, v in mine.items() if v is not None} == {
            n: theirs[n] for n in mine if mine[n] is not None
        }
        assert (mine["input_tokens"], mine["output_tokens"], mine["cache_read_tokens"]) == (100, 20, 60)
    assert [answer.raw for answer in trial.answers if not stream] == [r for r in raw if not stream]
    usage = trial.channel.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (200, 40, 120)
    assert (trial.channel.calls, trial.channel.failed, trial.channel.lost_usage) == (2, 0, None)


def test_what_an_answer_says_beside_its_text(rig: Rig) -> None:
    """Only mini-swe-agent keeps token ids by itself; without these there is nothing to train on."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        got = trial.ask("chat").json
    (answer,) = trial.settled()
    assert answer.model == "test-model"
    assert answer.response == got["id"]
    assert answer.finish_reason == "tool_calls"
    assert answer.token_ids == got["choices"][0]["token_ids"]
    assert answer.prompt_token_ids is not None
    assert trial.of(MessageRecorded)[1].reasoning == "Let me think about it."


def test_times_are_measured_from_the_request(rig: Rig) -> None:
    """Time to first token is compared between models; measured from elsewhere it is another quantity."""
    pace = "{headers_s: 0.1, first_token_s: 0.1, tokens_per_second: 50}"
    script = f"turns: [{{text: one two three four five}}]\npace: {pace}"
    with serving(script) as server:
        trial = rig.admit(server.base)
        trial.ask("messages", stream=True)
        whole = rig.admit(server.base)
        whole.ask("messages")
    (answer,) = trial.settled()
    first_byte, first, last, end = (
        answer.first_byte_ns, answer.first_token_ns, answer.last_token_ns, answer.duration_ns,
    )  # fmt: skip
    assert 0.1e9 <= first_byte < first < last <= end
    assert first >= 0.2e9
    assert last - first >= 0.05e9
    (other,) = whole.settled()
    assert other.first_token_ns is None  # one document: when its first token was made, nobody can see


def test_side_calls_are_told_apart(rig: Rig) -> None:
    """A title that counts as a turn spoils the count of turns, and its text the conversation."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        trial.ask("chat")
        trial.ask("chat", text="Name this chat.", tools=False)
        trial.ask("chat", text="Classify.", model="small-model")
        trial.send("/v1/messages/count_tokens", request("messages"))
        trial.send("/v1/models", method="GET")
    assert [event.auxiliary for event in trial.asked] == [
        None,
        "no_tools",
        "other_model",
        "count_tokens",
        "probe",
    ]
    assert trial.channel.calls == 3
    # A model of another name that may use tools can do the task: it counts, though it is no turn of the talk.
    assert trial.channel.budget.made()["turns"] == 2


def test_a_long_conversation_is_recorded_in_linear_size(rig: Rig) -> None:
    """A harness sends everything again with every request: recorded each time, 200 turns would be a gigabyte."""
    sizes = []
    with serving(
        "turns: [{text: Again., calls: [{action: terminal, arguments: {command: date}}]}]"
    ) as server:
        trial = rig.admit(server.base)
        body = request("chat")
        for turn in range(200):
            answer = trial.send(PATHS["chat"], body).json
            body = follow("chat", answer, [f"result {turn} " + "x" * 500], body)
            if turn in (99, 199):
                trial.settled(turn + 1)
                sizes.append(sum(len(msgspec.json.encode(event)) for event in list(trial.events)))
    assert sizes[1] < 2.05 * sizes[0]
    assert len(json.dumps(body)) * 5 > sizes[1]
    kinds = [len(trial.of(kind)) for kind in (ModelRequested, ToolCalled, ToolReturned, MessageRecorded)]
    assert kinds == [200, 200, 199, 201]
    assert trial.channel.flags == []


def test_a_new_turn_right_behind_the_last_word_finds_the_answer(rig: Rig) -> None:
    """Clients stop reading at the last event and ask again while the connection is still open: an answer that is
    only recorded at the connection's end would come too late, and its message would be taken for a new one."""
    said = {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}
    events = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n".encode()
    end = threading.Event()

    def speak(connection: socket.socket, _: Heard) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head + b"%x\r\n%s\r\n" % (len(events), events))
        end.wait(10)
        connection.sendall(b"0\r\n\r\n")

    first = request("chat", stream=True)
    more = [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "And?"}]
    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        one, other = (http.client.HTTPConnection(urlsplit(trial.root).netloc, timeout=10) for _ in range(2))
        answers = []
        for connection, body in ((one, first), (other, first | {"messages": first["messages"] + more})):
            path = urlsplit(trial.root).path + PATHS["chat"]
            connection.request("POST", path, json.dumps(body), {"x-api-key": trial.token})
            answers.append(connection.getresponse())
            assert answers[-1].read1(1000) == events
        one.close()  # as clients do that have heard the last word
        answers[0].close()
        end.set()
        assert answers[1].read() == b""
        other.close()
    assert [answer.ended for answer in trial.settled(2)] == ["complete", "complete"]
    said_by = [(e.role, e.text) for e in trial.of(MessageRecorded)]
    assert said_by == [("user", "Do it."), ("assistant", "Hi."), ("user", "And?"), ("assistant", "Hi.")]
    assert trial.asked[1].known == 2


def test_an_answer_whose_last_word_was_heard_is_whole(rig: Rig) -> None:
    """A client that hangs up at the last event has heard everything; its call did not break off."""
    said = {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}
    events = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n".encode()
    gone = threading.Event()

    def speak(connection: socket.socket, _: Heard) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events)
        gone.wait(10)

    with saying(speak) as endpoint:
        trial = rig.admit(endpoint.base)
        connection = http.client.HTTPConnection(urlsplit(trial.root).netloc, timeout=10)
        path = urlsplit(trial.root).path + PATHS["chat"]
        connection.request("POST", path, json.dumps(request("chat", stream=True)), {"x-api-key": trial.token})
        answer = connection.getresponse()
        assert answer.read1(1000) == events
        answer.close()
        connection.close()
        assert trial.settled()[0].ended == "complete"
        gone.set()
    assert trial.channel.failed == 0


def test_what_a_harness_tells_itself_is_not_recorded_again(rig: Rig) -> None:
    """Twice the messages, once from each side, would be a conversation that never was."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base, tells_tools=False)
        two_turns(trial, "chat")
    trial.settled(2)
    assert {type(event).__name__ for event in trial.events} == {"ModelRequested", "ModelResponded"}
    assert len(trial.answers[0].calls) == 2


def test_a_retry_names_the_call_that_it_repeats(rig: Rig) -> None:
    """Retries that cannot be told from turns make a flaky endpoint look like a busy agent."""
    with serving("turns: [{text: hi}]\nfaults: [{kind: status, status: 500, times: 2}]") as server:
        trial = rig.admit(server.base)
        assert [trial.ask("chat").status for _ in range(3)] == [500, 500, 200]
    assert [event.retry_of for event in trial.asked] == [None, "m1", "m2"]
    assert [answer.ended for answer in trial.settled(3)] == ["error", "error", "complete"]
    assert "model_retried" in trial.channel.flags
    assert trial.channel.verdict() == (None, None)
    assert (trial.channel.calls, trial.channel.failed) == (3, 2)


class _Broken:
    """A reader that fails."""

    tokens = 0

    def feed(self, chunk: bytes) -> None:
        """Fail."""
        raise RuntimeError("a bug in a reader")

    def finish(self) -> None:
        """Fail."""
        raise RuntimeError("a bug in a reader")


def test_a_reader_that_fails_is_recorded_and_disturbs_nobody(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours in reading must not cost a trial its answer."""

    def broken(self: object, *, stream: bool) -> AnswerReader:
        return _Broken()  # type: ignore[return-value]

    with serving(TURNS) as server:
        trial = rig.admit(server.base)
        monkeypatch.setattr(type(DIALECTS[0]), "reader", broken)
        assert trial.ask("chat", stream=True).body.endswith(b"data: [DONE]\n\n")
    (answer,) = trial.settled()
    assert answer.status == 200
    assert "a bug in a reader" in str(answer.error)
    assert trial.channel.flags == ["answer_not_read"]
    assert [note.code for note in trial.of(NoteRecorded)] == ["gateway_answer_not_read"]


def test_a_log_that_takes_nothing_disturbs_nobody(rig: Rig) -> None:
    """A harness that gets an error of ours would be measured by it."""

    def emit(event: object) -> None:
        raise OSError("the disk is full")

    with serving(TURNS) as server:
        trial = rig.admit(server.base, emit=emit)
        two_turns(trial, "messages")
    rig.until(lambda: trial.channel.calls == 2 and not trial.channel.open)
    assert trial.channel.flags == ["recording_failed"]


def test_requests_that_nobody_understands_go_on(rig: Rig) -> None:
    """Whether a body can be used, its endpoint decides."""
    with serving("turns: [{text: hi}]") as server:
        trial = rig.admit(server.base)
        for body in (
            b"{",
            b"[1]",
            b"",
            b'{"messages": 7}',
            b"[" * 9999,
        ):
            assert trial.send(PATHS["chat"], body).status == 400
        lone = b'{"model": "test-model", "messages": [{"role": "user", "content": "\\ud83d", "n": NaN}]}'
        assert trial.send(PATHS["chat"], lone).status == 200
    answers = trial.settled(6)
    assert [answer.ended for answer in answers] == [*["error"] * 5, "complete"]
    assert trial.asked[5].model == "test-model"
    assert "recording_failed" not in trial.channel.flags


def test_the_key_is_nowhere_but_at_the_endpoint(rig: Rig) -> None:
    """Whatever a harness's model prints ends up in logs that people share."""
    with serving(f"turns: [{{text: hi}}]\naccept_key: {KEY}") as server:
        trial = rig.admit(server.base)
        for dialect in NAMES:
            got = trial.ask(dialect)
            assert got.status == 200
            assert KEY not in f"{got.headers} {got.body!r}"
        assert rig.admit(server.base, key="another").ask("chat").status == 401
    trial.settled(3)
    assert KEY not in repr(trial.events)
    assert KEY not in repr(trial.channel.spec)
    assert trial.token not in repr(trial.channel.spec)


def test_bodies_are_kept_for_cassettes(rig: Rig) -> None:
    """A run without its bodies cannot be replayed."""
    kept: dict[str, bytes] = {}

    def blob(data: bytes) -> str:
        time.sleep(0.01)
        name = f"sha256:{len(kept)}"
        kept[name] = data
        return name

    with serving(TURNS) as server:
        trial = rig.admit(server.base, blob=blob)
        got = trial.ask("chat", stream=True)
    (answer,) = trial.settled()
    assert kept[answer.body] == got.body
    assert json.loads(kept[trial.asked[0].body]) == request("chat", stream=True)
    trial.close()


def test_the_record_keeps_its_order_while_bodies_are_kept(rig: Rig) -> None:
    """A slow disk would put a tool's result before its call, and the second answer before the first."""
    slow = iter([0.0, 0.2, 0.0, 0.0] * 9)

    def blob(data: bytes) -> str:
        time.sleep(next(slow))
        return "sha256:x"

    with serving(TURNS) as server:
        trial = rig.admit(server.base, blob=blob)
        two_turns(trial, "chat")
        trial.ask("chat", text="And more.")
        trial.close()
    order = [type(e).__name__ for e in trial.events if not isinstance(e, MessageRecorded | ToolCalled)]
    asked_and_told = ["ModelRequested", "ModelResponded"]
    assert order == [
        *asked_and_told,
        "ModelRequested",
        "ToolReturned",
        "ToolReturned",
        "ModelResponded",
        *asked_and_told,
    ]
    assert [event.call for event in trial.answers] == ["m1", "m2", "m3"]
    kinds = [type(e) for e in trial.events]
    assert kinds.index(ToolCalled) < kinds.index(ToolReturned)


def test_what_is_open_at_the_end_is_recorded(rig: Rig) -> None:
    """A call that is under way when the trial is stopped has cost something."""
    with serving("turns: [{text: one two three four}]\npace: {tokens_per_second: 1}") as server:
        trial = rig.admit(server.base)
        thread = threading.Thread(target=lambda: trial.ask("chat", stream=True))
        thread.start()
        rig.until(lambda: any(e.first_byte_ns is not None for e in trial.channel.open.values()))
        trial.close()
        thread.join(10)
        assert not thread.is_alive()
    assert [answer.ended for answer in trial.answers] == ["disconnected"]
    assert trial.channel.open == {}


def test_another_dialect_than_the_file_says_is_remarked_once(rig: Rig) -> None:
    """A wrong `dialect` changes where the key goes on other paths, and nobody would look for it there."""
    with serving(TURNS) as server:
        right, wrong, silent = (rig.admit(server.base, dialect=said) for said in ("chat", "messages", None))
        for trial in (right, wrong, silent):
            assert [trial.ask("chat", text=f"Question {n}").status for n in range(2)] == [200, 200]
    assert [(note.level, note.code) for note in wrong.of(NoteRecorded)] == [
        ("warning", "gateway_dialect_mismatch")
    ]
    assert "speaks chat" in wrong.of(NoteRecorded)[0].text
    assert wrong.channel.flags == ["dialect_mismatch"]
    assert right.channel.flags == silent.channel.flags == []
