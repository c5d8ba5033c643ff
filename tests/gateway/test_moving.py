"""Folders in a model's answer become those of the trial that gets it, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemra.gateway.dialects import by_name
from hemra.gateway.moving import moved
from hemra.gateway.normal import Answer

THEN, NOW = "/tmp/hemra-0/then/0001.1/workspace", "/w"
NAMES = {THEN: NOW, "/tmp/hemra-0/then/0001.1/home": "/h"}
ARGUMENTS = json.dumps({"command": f"cat {THEN}/a.txt > {THEN}/b.txt"})


def cut(text: str, size: int) -> list[str]:
    """The text in pieces."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def chat(size: int) -> list[Any]:
    """Text and the arguments of two calls side by side, in the chat dialect."""
    said = [{"content": piece} for piece in cut(f"I look into {THEN}.", size)]
    one, other = cut(ARGUMENTS, size), cut(json.dumps({"command": f"ls {THEN}"}), size)
    opened = [
        {
            "tool_calls": [
                {"index": i, "id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": ""}}
            ]
        }
        for i in (0, 1)
    ]
    called = []
    for i in range(max(len(one), len(other))):
        for index, pieces in ((0, one), (1, other)):
            if i < len(pieces):
                called.append({"tool_calls": [{"index": index, "function": {"arguments": pieces[i]}}]})
    events = [{"id": "r", "choices": [{"index": 0, "delta": delta}]} for delta in (*said, *opened, *called)]
    return [*events, {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def messages(size: int) -> list[Any]:
    """The same in the messages dialect, with a thought that is signed."""
    blocks: list[Any] = [
        {"type": "message_start", "message": {"id": "r", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": f"in {THEN}"},
        },
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    ]
    for piece in cut(f"I look into {THEN}.", size):
        blocks.append(
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}
        )
    for index, text in ((2, ARGUMENTS), (3, json.dumps({"command": f"ls {THEN}"}))):
        block = {"type": "tool_use", "id": f"c{index - 2}", "name": "bash", "input": {}}
        blocks.append({"type": "content_block_start", "index": index, "content_block": block})
        for piece in cut(text, size):
            delta = {"type": "input_json_delta", "partial_json": piece}
            blocks.append({"type": "content_block_delta", "index": index, "delta": delta})
    return [
        *blocks,
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def responses(size: int) -> list[Any]:
    """The same in the responses dialect, which tells everything again whole at its end."""
    text, other = f"I look into {THEN}.", json.dumps({"command": f"ls {THEN}"})
    message = {
        "type": "message",
        "id": "i0",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    calls = [
        {
            "type": "function_call",
            "id": f"i{i + 1}",
            "call_id": f"c{i}",
            "name": "bash",
            "arguments": arguments,
        }
        for i, arguments in enumerate((ARGUMENTS, other))
    ]
    events: list[Any] = []
    for i, (item, kind, said) in enumerate(
        [(message, "output_text", text), *((c, "function_call_arguments", c["arguments"]) for c in calls)]
    ):
        events.append(
            {"type": "response.output_item.added", "output_index": i, "item": {**item, "arguments": ""}}
        )
        for piece in cut(str(said), size):
            events.append(
                {"type": f"response.{kind}.delta", "item_id": item["id"], "output_index": i, "delta": piece}
            )
        events.append({"type": "response.output_item.done", "output_index": i, "item": item})
    done = {"id": "r", "status": "completed", "output": [message, *calls], "usage": None}
    return [*events, {"type": "response.completed", "response": done}]


def stream(events: list[Any]) -> bytes:
    """Events as they go over the wire."""
    named = (f"event: {e['type']}\n" if "type" in e else "" for e in events)
    return b"".join(f"{n}data: {json.dumps(e)}\n\n".encode() for n, e in zip(named, events, strict=True))


def read(dialect: str, body: bytes) -> Answer:
    """What a client makes of it."""
    reader = by_name(dialect).reader(stream=True)
    reader.feed(body)
    return reader.finish()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_a_stream_is_another_only_in_its_folders(dialect: str, size: int) -> None:
    """A call would go to the old folder, or a stream come apart, wherever its pieces were cut."""
    events = {"chat": chat, "messages": messages, "responses": responses}[dialect](size)
    body = stream(events)
    told = moved(body, NAMES)
    then, now = read(dialect, body), read(dialect, told)
    assert now.text == f"I look into {NOW}."
    assert [call.arguments for call in now.calls] == [
        {"command": f"cat {NOW}/a.txt > {NOW}/b.txt"}, {"command": f"ls {NOW}"},
    ]  # fmt: skip
    assert (now.complete, now.finish_reason, len(now.calls)) == (True, then.finish_reason, len(then.calls))
    assert told.count(b"\n") == body.count(b"\n"), "as many events as before"
    if dialect == "messages":
        assert THEN.encode() in told, "what is signed stays"
    else:
        assert THEN.encode() not in told


def test_what_names_no_folder_stays_byte_for_byte() -> None:
    """Every replay would write its answers anew, and differ from what was recorded."""
    for body in (b'data: {"a" : 1}\r\n\r\n: note\ndata: [DONE]\n', b'{ "text" : "none" }', b"\xff\xfe", b""):
        assert moved(body, NAMES) == body
        assert moved(body, {}) == body
    one = b'data: {"text" : "none"}\n\ndata: {"text": "%s"}\n\n' % THEN.encode()
    assert moved(one, NAMES).startswith(b'data: {"text" : "none"}\n\ndata: {"text":"/w"}')


def test_bodies_of_any_kind_are_exchanged() -> None:
    """An answer that is no JSON, or is a whole document, would keep the old folder."""
    document = json.dumps({"content": [{"text": f"{THEN} ü"}], "thinking": THEN, "n": 1})
    assert json.loads(moved(document.encode(), NAMES)) == {
        "content": [{"text": "/w ü"}],
        "thinking": THEN,
        "n": 1,
    }
    assert moved(f"see {THEN}!".encode() + b"\xff", NAMES) == b"see /w!\xff"


def test_a_new_name_may_hold_the_old_one() -> None:
    """A folder whose name goes on with the old one would be exchanged again and again."""
    events = [{"text": "cd /w"}, {"text": "s/a /ws"}]
    told = moved(stream(events), {"/ws": "/ws/ws"})
    assert [json.loads(line[6:])["text"] for line in told.splitlines() if line] == [
        "cd /ws/ws", "/a /ws/ws",
    ]  # fmt: skip


@given(st.lists(st.text("/abw", max_size=6), max_size=8))
def test_pieces_are_as_good_as_the_whole(pieces: list[str]) -> None:
    """Somewhere a text in pieces would become another than the same text in one."""
    names = {"/a": "/bb", "/ab": "/w", "w/": ""}
    whole = moved(stream([{"text": "".join(pieces)}]), names)
    told = moved(stream([{"text": piece} for piece in pieces]), names)
    assert "".join(texts(told)) == "".join(texts(whole))
    assert len(texts(told)) == len(pieces)


def texts(body: bytes) -> list[str]:
    """The texts of the events."""
    return [json.loads(line[6:])["text"] for line in body.splitlines() if line]
