"""Answers of models, in every dialect and in the ways that servers depart from it, are read as what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemra.gateway.dialects import by_name
from hemra.gateway.normal import Answer
from tests.gateway.odd_values import KINDS, objects
from tools.model_server import exchange
from tools.model_server.dialects import DIALECTS as WRITERS
from tools.model_server.director import malformed

NAMES = ("chat", "responses", "messages")
#: How each dialect calls the ends that the writers know.
FINISHES = {
    "chat": {"stop": "stop", "tool_calls": "tool_calls", "length": "length"},
    "responses": {"stop": "completed", "tool_calls": "completed", "length": "max_output_tokens"},
    "messages": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"},
}
USED = exchange.Usage(input=130_213, output=225, cache_read=128_955, cache_write=0, reasoning=14)
CALL = exchange.Call("bash", '{"command":"ls -la"}')
SAID = exchange.Answer(
    "a1", "test-model", text="Working on it. ", reasoning="I should look.", calls=(CALL,), finish="tool_calls",
    usage=USED,
)  # fmt: skip


def asked(name: str, *, stream: bool) -> exchange.Asked:
    """A request as far as the writers look at it."""
    return exchange.Asked(name, "test-model", stream, (), include_usage=True)


def written(name: str, answer: exchange.Answer, *, stream: bool) -> bytes:
    """The body that the scripted model server sends."""
    writer = WRITERS[name]
    if stream:
        return b"".join(piece.content for piece in writer.stream(answer, asked(name, stream=True)))
    return exchange.wire(writer.whole(answer, asked(name, stream=False)))


def read(name: str, chunks: bytes | Iterable[bytes], *, stream: bool = True) -> Answer:
    """What a reader makes of a body."""
    reader = by_name(name).reader(stream=stream)
    for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
        reader.feed(chunk)
    return reader.finish()


def events(*data: Any, end: str = "\n") -> bytes:
    """A stream of these events; a pair is a name and its data."""
    lines = []
    for each in data:
        name, value = each if isinstance(each, tuple) else (None, each)
        lines += [f"event: {name}"] if name else []
        lines += [f"data: {value if isinstance(value, str) else json.dumps(value)}", ""]
    return "".join(line + end for line in lines).encode()


def chunk(*, choice: dict[str, Any] | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    whole = {"index": 0, "delta": delta, "finish_reason": None} | (choice or {})
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [whole]}


END = chunk(choice={"finish_reason": "stop"})

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
arguments = st.dictionaries(texts, texts | st.integers(-9, 9) | st.booleans(), max_size=3).map(
    exchange.compact
)
calls = st.builds(exchange.Call, st.sampled_from(["bash", "read"]), arguments | st.just('{"command": "l'))
usages = st.builds(
    exchange.Usage,
    st.integers(50, 999),
    st.integers(50, 999),
    st.integers(0, 25),
    st.just(0),
    st.integers(0, 9),
)
answers = st.builds(
    exchange.Answer, st.just("a1"), st.just("test-model"), texts, texts, st.lists(calls, max_size=3).map(tuple),
    st.sampled_from(["stop", "tool_calls", "length"]), usages | st.none(),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), said=answers, stream=st.booleans())
def test_what_is_served_is_read_back(name: str, said: exchange.Answer, stream: bool) -> None:
    """The record would say something else than the model did."""
    answer = read(name, written(name, said, stream=stream), stream=stream)
    assert (answer.text, answer.reasoning or "") == (said.text, said.reasoning)
    assert [call.name for call in answer.calls] == [call.name for call in said.calls]
    for number, (call, made) in enumerate(zip(answer.calls, said.calls, strict=True)):
        assert call.id == WRITERS[name].call_id(said, number)
        if made.arguments.endswith('"l'):
            assert call.arguments == call.written == made.arguments
        else:
            assert (call.arguments, call.written) == (json.loads(made.arguments), None)
    assert answer.finish_reason == FINISHES[name][said.finish]
    assert (answer.model, answer.complete, answer.junk, answer.error) == ("test-model", True, False, None)
    raw = WRITERS[name].usage(said.usage) if said.usage else None
    assert answer.raw_usage == raw
    if said.usage and answer.usage:
        used = answer.usage
        assert (used.input_tokens, used.output_tokens) == (said.usage.input, said.usage.output)
        assert used.cache_read_tokens == said.usage.cache_read
        assert used.reasoning_tokens == (None if name == "messages" else said.usage.reasoning)
    else:
        assert answer.usage is None


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    said=answers,
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=9),
    crlf=st.booleans(),
)
def test_a_stream_may_come_in_any_pieces(
    name: str, said: exchange.Answer, sizes: list[int], crlf: bool
) -> None:
    """A cut within a character, a line end or a field's name would garble what is recorded."""
    body = written(name, said, stream=True)
    body = body.replace(b"\n", b"\r\n") if crlf else body
    pieces, start = [], 0
    while start < len(body):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(body[start : start + size])
        start += size
    assert read(name, pieces) == read(name, body) == read(name, written(name, said, stream=True))


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), said=answers, data=st.data())
def test_a_cut_stream_is_the_beginning_of_the_whole(
    name: str, said: exchange.Answer, data: st.DataObject
) -> None:
    """A cut stream would be recorded as finished, or with something in it that nobody said."""
    body = written(name, said, stream=True)
    part = read(name, body[: data.draw(st.integers(0, len(body)))])
    whole = read(name, body)
    assert whole.text.startswith(part.text)
    assert (whole.reasoning or "").startswith(part.reasoning or "")
    assert [call.id for call in part.calls if call.id] == [c.id for c in whole.calls][: len(part.calls)]
    for cut, call in zip(part.calls, whole.calls, strict=False):
        begun = cut.written if isinstance(cut.written, str) else ""
        assert cut.arguments in ({}, call.arguments) or (
            call.written or exchange.compact(call.arguments)
        ).startswith(begun)
    assert not part.complete or part.finish_reason == whole.finish_reason
    assert part.usage is None or part.usage == whole.usage or part.usage.output_tokens is None


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(NAMES), body=st.binary(max_size=200), stream=st.booleans(), framed=st.booleans())
def test_no_bytes_make_a_reader_raise(name: str, body: bytes, stream: bool, framed: bool) -> None:
    """A provider's nonsense would end the harness's own request."""
    read(name, b"data: " + body + b"\n\n" if framed else body, stream=stream)


@settings(max_examples=80, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    given_events=st.lists(st.tuples(st.sampled_from(KINDS), objects), max_size=4),
    stream=st.booleans(),
)
def test_no_json_makes_a_reader_raise(name: str, given_events: list[tuple[str, Any]], stream: bool) -> None:
    """A field of another type than documented would end the harness's own request."""
    body = [
        (kind, {"type": kind, **value}) if isinstance(value, dict) else (kind, value)
        for kind, value in given_events
    ]
    read(name, events(*body) if stream else json.dumps(body[0][1] if body else None).encode(), stream=stream)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stream", [True, False])
def test_malformed_arguments_stay_as_they_were_written(name: str, stream: bool) -> None:
    """What a model got wrong would be lost, or taken for an empty call."""
    answer = read(name, written(name, replace(SAID, calls=(malformed(CALL),)), stream=stream), stream=stream)
    assert [(call.arguments, call.written) for call in answer.calls] == [('{"command"', '{"command"')]


@pytest.mark.parametrize("name", ["chat", "responses"])
@pytest.mark.parametrize("stream", [True, False])
def test_freeform_input_is_text_even_where_it_looks_like_json(name: str, stream: bool) -> None:
    """A patch would be parsed, and recorded as something that no model wrote."""
    made = exchange.Call("apply_patch", '{"a": 1}', "custom")
    answer = read(name, written(name, replace(SAID, calls=(made,)), stream=stream), stream=stream)
    assert [(call.name, call.arguments) for call in answer.calls] == [("apply_patch", '{"a": 1}')]


@pytest.mark.parametrize("stream", [True, False])
def test_token_ids_and_logprobs_are_kept(stream: bool) -> None:
    """The ids that were sampled could not be told again: harnesses render history anew."""
    said = replace(SAID, token_ids=True, prompt_token_ids=(5, 6, 7), logprobs=True)
    answer = read("chat", written("chat", said, stream=stream), stream=stream)
    whole = json.loads(written("chat", said, stream=False))
    assert answer.token_ids == whole["choices"][0]["token_ids"]
    assert answer.prompt_token_ids == [5, 6, 7]
    assert answer.logprobs == whole["choices"][0]["logprobs"]


@pytest.mark.parametrize("stream", [True, False])
def test_logprobs_of_a_response_are_kept(stream: bool) -> None:
    """They stand with every token of the text in this dialect."""
    answer = read(
        "responses", written("responses", replace(SAID, logprobs=True), stream=stream), stream=stream
    )
    assert "".join(each["token"] for each in answer.logprobs) == SAID.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_in_an_answers_place_is_read(name: str, stream: bool) -> None:
    """The reason why a trial failed would be missing in the record."""
    body = WRITERS[name].error(429, "slow down")
    answer = read(name, exchange.wire(body), stream=stream)
    assert answer.error == body["error"]
    assert (answer.complete, answer.junk, answer.text) == (False, False, "")


@pytest.mark.parametrize("name", NAMES)
def test_an_error_amid_a_stream_is_read_beside_what_came(name: str) -> None:
    """It would pass for a stream that was cut, or for an answer."""
    body = b"".join(p.content for p in WRITERS[name].stream(SAID, asked(name, stream=True))[:8])
    answer = read(name, body + WRITERS[name].error_event("overloaded").content)
    assert answer.error["message"] == "overloaded"
    assert answer.reasoning
    assert SAID.reasoning.startswith(answer.reasoning)
    assert not answer.complete


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"detail": "Not authenticated"}, "Not authenticated"),
        (
            {"detail": [{"loc": ["body"], "msg": "field required"}]},
            [{"loc": ["body"], "msg": "field required"}],
        ),
        (
            {"object": "error", "message": "too long", "code": 400},
            {"object": "error", "message": "too long", "code": 400},
        ),
        ({"error": "model not found"}, "model not found"),
        ([{"error": {"code": 429, "message": "quota"}}], {"code": 429, "message": "quota"}),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_errors_of_other_servers_are_read(name: str, body: Any, error: Any) -> None:
    """FastAPI, vLLM, Ollama and Google each say it in their own way."""
    answer = read(name, json.dumps(body).encode())
    assert (answer.error, answer.junk) == (error, False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "junk"),
    [
        (b"<html><body>It works!</body></html>", True),
        (b"", False),
        (b"[]", True),
        (b'{"ok": true}', True),
        (b"\xff\xfe", True),
    ],
)
def test_junk_is_told_from_nothing(name: str, stream: bool, body: bytes, junk: bool) -> None:
    """A login page with status 200 would count as an answer without words."""
    answer = read(name, body, stream=stream)
    assert (answer.junk, answer.complete, answer.text, answer.error) == (junk, False, "", None)


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_decide_between_stream_and_document(name: str) -> None:
    """A server that answers the other way round than asked would be recorded as junk."""
    assert read(name, written(name, SAID, stream=False), stream=True) == read(
        name, written(name, SAID, stream=False), stream=False
    )
    assert read(name, written(name, SAID, stream=True), stream=False) == read(
        name, written(name, SAID, stream=True), stream=True
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_first_piece_is_counted_when_it_comes(name: str) -> None:
    """The time to the first token would be that of a ping, of an empty piece or of the end."""
    reader = by_name(name).reader(stream=True)
    counts = []
    for piece in WRITERS[name].stream(replace(SAID, calls=()), asked(name, stream=True)):
        before = reader.tokens
        reader.feed(b": ping\n\n" + piece.content)
        counts.append((piece.tokens, reader.tokens - before))
    assert [told for told, _ in counts] == [seen for _, seen in counts]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_found_in_every_field(field: str) -> None:
    """Each server of open models has its own name for it."""
    answer = read(
        "chat", events(chunk(**{field: "Let me "}), chunk(**{field: "see."}), chunk(content="Yes."), END)
    )
    assert (answer.reasoning, answer.text) == ("Let me see.", "Yes.")


def test_reasoning_that_is_sent_twice_is_read_once() -> None:
    """Some servers fill two fields for the clients of both."""
    details = [{"type": "reasoning.text", "text": "Hm", "index": 0}]
    answer = read(
        "chat", events(chunk(reasoning_content="Hm", reasoning="Hm", reasoning_details=details), END)
    )
    assert answer.reasoning == "Hm"


def test_reasoning_in_details_and_parts_is_read() -> None:
    """OpenRouter and Mistral give it in lists; what is sealed is kept as it came."""
    details = [{"type": "reasoning.summary", "summary": "In short"}]
    assert read("chat", events(chunk(reasoning_details=details), END)).reasoning == "In short"
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Yes"},
    ]
    answer = read("chat", events(chunk(content=parts), END))
    assert (answer.reasoning, answer.text) == ("Hm", "Yes")
    sealed = [{"type": "reasoning.encrypted", "data": "c2Vh"}]
    assert read("chat", events(chunk(reasoning_details=sealed), END)).reasoning == sealed


def test_the_first_of_several_choices_is_the_answer() -> None:
    """Two answers that come in turns would be mixed into one text."""
    body = events(
        chunk(choice={"index": 1, "delta": {"content": "No"}}),
        chunk(content="Yes"),
        chunk(choice={"index": 1, "delta": {"content": ", no."}, "finish_reason": "length"}),
        chunk(content=", yes."),
        END,
    )
    answer = read("chat", body)
    assert (answer.text, answer.finish_reason) == ("Yes, yes.", "stop")


def pieces_of_calls(*deltas: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The calls that these deltas give."""
    body = events(
        *(chunk(tool_calls=[delta]) for delta in deltas), chunk(choice={"finish_reason": "tool_calls"})
    )
    return [(call.id, call.name, call.arguments) for call in read("chat", body).calls]


def test_calls_are_told_apart_in_every_way_of_numbering() -> None:
    """Two calls would be one, or one two: servers number all 0, none, or repeat the head in every piece."""
    one, two = {"name": "a", "arguments": '{"x":'}, {"name": "b", "arguments": "{}"}
    expected = [("1", "a", {"x": 1}), ("2", "b", {})]
    more = {"function": {"arguments": "1}"}}
    head, other = {"id": "1", "function": one}, {"id": "2", "function": two}
    assert pieces_of_calls({"index": 0} | head, {"index": 0} | more, {"index": 1} | other) == expected
    assert pieces_of_calls({"index": 0} | head, {"index": 0} | more, {"index": 0} | other) == expected
    assert pieces_of_calls(head, more, other) == expected
    repeated = {"id": "1", "function": {"name": "a", "arguments": "1}"}}
    assert pieces_of_calls({"index": 0} | head, {"index": 0} | repeated, {"index": 1} | other) == expected
    assert pieces_of_calls(head, repeated, other) == expected
    assert pieces_of_calls({"function": {"name": "a", "arguments": {"x": 1}}}) == [("", "a", {"x": 1})]


def test_calls_of_a_document_stay_apart_with_one_id() -> None:
    """Local servers give every call of a turn the same id, or none."""
    made = [
        {"id": "call_0", "type": "function", "function": {"name": "a", "arguments": f'{{"n":{n}}}'}}
        for n in (1, 2)
    ]
    body = {
        "choices": [
            {
                "message": {"role": "assistant", "content": None, "tool_calls": made},
                "finish_reason": "tool_calls",
            }
        ]
    }
    assert [call.arguments for call in read("chat", json.dumps(body).encode()).calls] == [{"n": 1}, {"n": 2}]


def test_a_legacy_function_call_is_a_call() -> None:
    """An agent on the older interface would seem to call nothing."""
    body = events(
        chunk(function_call={"name": "ls", "arguments": '{"p'}),
        chunk(function_call={"arguments": '": "."}'}),
        chunk(choice={"finish_reason": "function_call"}),
    )
    assert [(call.id, call.name, call.arguments) for call in read("chat", body).calls] == [
        ("", "ls", {"p": "."})
    ]


@pytest.mark.parametrize("empty", ["", " ", None])
def test_arguments_that_are_left_out_are_none_at_all(empty: str | None) -> None:
    """A call without arguments would be recorded as a text that is no JSON."""
    assert pieces_of_calls({"index": 0, "id": "1", "function": {"name": "now", "arguments": empty}}) == [
        ("1", "now", {})
    ]


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": USAGE},
        chunk(choice={"finish_reason": "stop"}) | {"usage": USAGE},
        chunk(choice={"finish_reason": "stop", "usage": USAGE}),
        chunk(choice={"finish_reason": "stop"}) | {"x_groq": {"id": "r", "usage": USAGE}},
    ],
)
def test_usage_is_found_wherever_it_stands(last: dict[str, Any]) -> None:
    """Tokens would be missing in the sums for one provider."""
    early = chunk(content="Hi") | {"usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}}
    answer = read("chat", events(early, last, "[DONE]"))
    assert answer.raw_usage == USAGE
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)


def test_output_of_a_message_counts_from_its_end_only() -> None:
    """The number at the beginning (1) would be recorded as the output of an answer that was cut."""
    start = {
        "type": "message_start",
        "message": {"id": "m", "usage": {"input_tokens": 234, "output_tokens": 1}},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    cut = read("messages", events(start, delta))
    assert cut.usage is not None
    assert (cut.text, cut.usage.input_tokens, cut.usage.output_tokens) == ("Hi", 234, None)
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 0, "output_tokens": 7},
    }
    whole = read("messages", events(start, delta, end))
    assert whole.usage is not None
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (234, 7)


def test_tools_that_a_provider_runs_itself_are_calls() -> None:
    """A web search of the model would leave no trace."""
    use = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
    body = events(
        {"type": "content_block_start", "index": 0, "content_block": use},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query":"x"}'},
        },
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "redacted_thinking", "data": "c2Vh"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    )
    answer = read("messages", body)
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [
        ("srv1", "web_search", {"query": "x"})
    ]
    assert answer.reasoning == [{"type": "redacted_thinking", "data": "c2Vh"}]
    item = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    document = {"object": "response", "status": "completed", "output": [item]}
    made = read("responses", json.dumps(document).encode()).calls
    assert [(call.id, call.name, call.arguments) for call in made] == [
        ("ws_1", "web_search", {"type": "search", "query": "x"})
    ]


def test_a_response_is_put_together_from_pieces_where_its_end_is_empty() -> None:
    """Some servers close with a response without output, others send no pieces but the whole items."""
    item = {
        "type": "function_call",
        "call_id": "c1",
        "name": "search",
        "namespace": "mcp__docs",
        "arguments": "",
    }
    body = events(
        ("response.created", {"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Let me "},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "see."},
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        {"type": "response.function_call_arguments.done", "output_index": 1, "arguments": '{"q": 1}'},
        {
            "type": "response.completed",
            "response": {"id": "r1", "model": "m", "status": "completed", "output": []},
        },
    )
    answer = read("responses", body)
    assert (answer.id, answer.text, answer.complete) == ("r1", "Let me see.", True)
    assert [(c.id, c.name, c.arguments) for c in answer.calls] == [("c1", "mcp__docs__search", {"q": 1})]


def test_items_that_end_empty_or_without_a_role_are_read() -> None:
    """Servers that only imitate the dialect would seem to say nothing."""
    place = {"output_index": 0, "content_index": 0}
    body = events(
        {"type": "response.output_text.delta", "delta": "Let me ", **place},
        {"type": "response.output_text.done", "text": "Let me see.", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": []}},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    assert read("responses", body).text == "Let me see."
    part = {"type": "output_text", "text": "Let me see all."}
    done = {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {"type": "message", "content": [part]},
    }
    assert read("responses", body + events(done)).text == "Let me see all."
    call = {"type": "function_call", "call_id": "1", "name": "a", "arguments": '{"x": 1}'}
    piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"x"'}
    made = read("responses", events(piece, done | {"item": call})).calls
    assert [each.arguments for each in made] == [{"x": 1}]
    document = {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "content": [part]}],
    }
    assert read("responses", json.dumps(document).encode(), stream=False).text == "Let me see all."


def test_a_response_that_failed_is_no_answer() -> None:
    """A failure that comes with status 200 would count as a turn."""
    error = {"code": "server_error", "message": "high demand"}
    failed = {"id": "r1", "object": "response", "status": "failed", "error": error, "output": []}
    answer = read("responses", events(("response.failed", {"type": "response.failed", "response": failed})))
    assert (answer.error, answer.complete, answer.finish_reason) == (error, False, None)


def test_a_sealed_thought_is_kept_as_it_came() -> None:
    """Reasoning that only the provider can read would vanish from the record."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vh"}
    document = {"object": "response", "status": "completed", "output": [item]}
    assert read("responses", json.dumps(document).encode()).reasoning == [item]


def test_bytes_that_are_no_utf_8_are_kept() -> None:
    """What a model wrote would be replaced by signs that nobody wrote."""
    body = events(chunk(content="@"), END).replace(b"@", b"\xff\xc3")
    assert read("chat", body).text.encode("utf-8", "surrogateescape") == b"\xff\xc3"


def test_events_are_framed_as_the_standard_says() -> None:
    """Comments, names, ids, several lines of data, a mark of byte order, CR alone, and no empty line at the end."""
    halves = json.dumps(chunk(content="Hi")).replace(', "object"', ',\n"object"').split("\n")
    body = "\ufeff: hello\r\rretry: 5\rid: 1\rdata:" + halves[0] + "\rdata: " + halves[1] + "\r\r"
    body += "event: x\r\rdata: " + json.dumps(END) + "\r\rdata: [DONE]"
    for end in ("\r", "\r\n", "\n"):
        whole = body.replace("\r", end).encode()
        for chunks in ([whole], [bytes([each]) for each in whole]):
            answer = read("chat", chunks)
            assert (answer.text, answer.complete, answer.junk) == ("Hi", True, False)


def test_values_nested_without_end_are_read() -> None:
    """A model's `[[[[…` would exhaust the stack of the gateway."""
    for deep in ("[" * 100_000, "[" * 900 + "]" * 900, "[" * 300 + "]" * 300):
        call = {"id": "1", "function": {"name": "a", "arguments": deep}}
        answer = read("chat", events(chunk(tool_calls=[call]), END))
        assert answer.calls[0].written == deep
        assert json.dumps(answer.calls[0].arguments)
        read("chat", b"data: " + deep.encode() + b"\n\n")
        read("messages", deep.encode(), stream=False)
