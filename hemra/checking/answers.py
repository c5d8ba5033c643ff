"""What the checking model says, in each dialect, streamed or whole; every answer has a finish reason and usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MODEL = "hemra-check"
INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 120, 20, 12

Event = tuple[str | None, dict[str, Any] | str]


def answer(
    dialect: str, number: int, said: str | tuple[str, dict[str, Any]], *, stream: bool
) -> tuple[str, bytes]:
    """(content type, body) of answer `number`: text, or (tool, arguments)."""
    made = _MAKERS[dialect](number, said)
    if not stream:
        return "application/json", json.dumps(made[0]).encode()
    return "text/event-stream", b"".join(map(_framed, made[1]))


def _framed(event: Event) -> bytes:
    kind, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode()


Made = tuple[dict[str, Any], list[Event]]


def _chat(number: int, said: str | tuple[str, dict[str, Any]]) -> Made:
    usage = {
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS, "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }  # fmt: skip
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        function = {"name": said[0], "arguments": json.dumps(said[1])}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        ]
    finish = "stop" if isinstance(said, str) else "tool_calls"
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": MODEL}
    whole = base | {
        "object": "chat.completion", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip
    piece = base | {"object": "chat.completion.chunk"}
    pieces: list[Event] = [
        (None, piece | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        (None, piece | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
        (None, piece | {"choices": [], "usage": usage}),
        (None, "[DONE]"),
    ]
    return whole, pieces


def _responses(number: int, said: str | tuple[str, dict[str, Any]]) -> Made:
    usage = {
        "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    if isinstance(said, str):
        part = {"type": "output_text", "text": said, "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": f"msg_{number}", "role": "assistant",
                                "status": "completed", "content": [part]}  # fmt: skip
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed",
                "name": said[0], "arguments": json.dumps(said[1])}  # fmt: skip
    empty = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": MODEL, "output": []}
    whole = empty | {"status": "completed", "output": [item], "usage": usage}
    events: list[Event] = [
        ("response.created", {"response": empty | {"status": "in_progress"}}),
        *_responses_item(item, said),
        ("response.completed", {"response": whole}),
    ]
    told = [(kind, {"type": kind, "sequence_number": at} | dict(data)) for at, (kind, data) in enumerate(events)
            if isinstance(data, dict)]  # fmt: skip
    return whole, list(told)


def _responses_item(item: dict[str, Any], said: str | tuple[str, dict[str, Any]]) -> Iterator[Event]:
    where = {"output_index": 0, "item_id": item["id"]}
    if isinstance(said, str):
        inside = where | {"content_index": 0}
        part = item["content"][0]
        yield (
            "response.output_item.added",
            {"output_index": 0, "item": item | {"status": "in_progress", "content": []}},
        )
        yield "response.content_part.added", inside | {"part": part | {"text": ""}}
        yield "response.output_text.delta", inside | {"delta": said}
        yield "response.output_text.done", inside | {"text": said}
        yield "response.content_part.done", inside | {"part": part}
    else:
        yield (
            "response.output_item.added",
            {"output_index": 0, "item": item | {"status": "in_progress", "arguments": ""}},
        )
        yield "response.function_call_arguments.delta", where | {"delta": item["arguments"]}
        yield (
            "response.function_call_arguments.done",
            where | {"arguments": item["arguments"], "name": item["name"]},
        )
    yield "response.output_item.done", {"output_index": 0, "item": item}


def _messages(number: int, said: str | tuple[str, dict[str, Any]]) -> Made:
    usage = {
        "input_tokens": INPUT_TOKENS - CACHED_TOKENS, "cache_read_input_tokens": CACHED_TOKENS,
        "cache_creation_input_tokens": 0, "output_tokens": OUTPUT_TOKENS,
    }  # fmt: skip
    if isinstance(said, str):
        block: dict[str, Any] = {"type": "text", "text": said}
        empty, delta = block | {"text": ""}, {"type": "text_delta", "text": said}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": said[0], "input": said[1]}
        empty, delta = (
            block | {"input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(said[1])},
        )
    stop = {"stop_reason": "end_turn" if isinstance(said, str) else "tool_use", "stop_sequence": None}
    base = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL}
    whole = base | stop | {"content": [block], "usage": usage}
    begun: dict[str, Any] = base | {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage | {"output_tokens": 1},
    }
    events: list[Event] = [
        ("message_start", {"type": "message_start", "message": begun}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": stop, "usage": usage}),
        ("message_stop", {"type": "message_stop"}),
    ]
    return whole, events


_MAKERS = {"chat": _chat, "responses": _responses, "messages": _messages}
