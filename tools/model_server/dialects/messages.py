"""Anthropic Messages, with thinking blocks that carry a signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..exchange import Answer, Asked, BadRequest, History, Offered, Piece, Usage, compact, event, joined_text
from ..schemas import schema_of
from ..tokens import tokens

NAME = "messages"

_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def parse(body: Mapping[str, Any]) -> Asked:
    """Read a request. `system` messages amid the others are taken too. Raises BadRequest."""
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise BadRequest("messages: must be a list that is not empty")
    history = History()
    if body.get("system"):
        history.say("system", joined_text(body["system"]))
    for message in listed:
        if not isinstance(message, Mapping):
            raise BadRequest("messages: every message must be an object")
        _collect(history, str(message.get("role")), message.get("content"))
    formatted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Asked(
        dialect=NAME,
        model=str(body.get("model") or ""),
        stream=bool(body.get("stream")),
        messages=history.messages(),
        tools=tuple(_offered(tool) for tool in body.get("tools") or ()),
        schema=(formatted.get("schema") or {}) if formatted.get("type") == "json_schema" else None,
    )


def _collect(history: History, role: str, content: Any) -> None:
    """Take a message apart. Results stand before the user's own words and end the assistant's turn."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = []
    for block in blocks:
        if not isinstance(block, Mapping):
            raise BadRequest("messages: every content block must be an object")
        if block.get("type") == "tool_use":
            history.call(str(block.get("id")), str(block.get("name")), compact(block.get("input")))
        elif block.get("type") == "tool_result":
            history.result(str(block.get("tool_use_id")), joined_text(block.get("content")))
        elif block.get("type") == "text":
            said.append(str(block.get("text") or ""))
    if said or role == "assistant":
        history.say(role, "\n".join(said))


def _offered(tool: Any) -> Offered:
    if not isinstance(tool, Mapping) or not tool.get("name"):
        raise BadRequest("tools: every tool must be an object with a name")
    return Offered(str(tool["name"]), "function", schema_of(tool.get("input_schema")))


def usage(used: Usage) -> dict[str, Any]:
    """Usage as this dialect's provider writes it: cached input is not part of `input_tokens`."""
    return {
        "input_tokens": used.input - used.cache_read - used.cache_write,
        "cache_creation_input_tokens": used.cache_write,
        "cache_read_input_tokens": used.cache_read,
        "output_tokens": used.output,
    }


def _signature(text: str) -> str:
    return hashlib.sha256(b"thinking:" + text.encode("utf-8", "surrogatepass")).hexdigest()


def _input(arguments: str) -> Any:
    """The arguments as an object; a text that is no JSON is given as it is, as a broken model would."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def call_id(answer: Answer, number: int) -> str:
    """The id of one of the calls, counted from 0."""
    return f"toolu_{answer.id}_{number}"


def _content(answer: Answer) -> list[tuple[dict[str, Any], str]]:
    """The content blocks, each with the text that a stream gives in pieces."""
    blocks: list[tuple[dict[str, Any], str]] = []
    if answer.reasoning:
        signature = _signature(answer.reasoning)
        block = {"type": "thinking", "thinking": answer.reasoning, "signature": signature}
        blocks.append((block, answer.reasoning))
    if answer.text:
        blocks.append(({"type": "text", "text": answer.text}, answer.text))
    for number, call in enumerate(answer.calls):
        name, given = call_id(answer, number), _input(call.arguments)
        blocks.append(({"type": "tool_use", "id": name, "name": call.name, "input": given}, call.arguments))
    return blocks


def whole(answer: Answer, asked: Asked) -> dict[str, Any]:
    """The answer as one JSON object."""
    content = [block for block, _ in _content(answer)]
    body = _head(answer) | {"content": content, "stop_reason": _STOPS[answer.finish]}
    if answer.usage:
        body["usage"] = usage(answer.usage)
    return body


def _head(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _event(kind: str, carried: int = 0, **fields: Any) -> Piece:
    return event(kind, {"type": kind, **fields}, carried)


def stream(answer: Answer, asked: Asked) -> list[Piece]:
    """The answer as server-sent events, a token an event; input is told first, output last."""
    begun = _head(answer)
    if answer.usage:
        # A count of the beginning, which its end does not fall below.
        begun["usage"] = usage(answer.usage) | {"output_tokens": min(1, answer.usage.output)}
    pieces = [_event("message_start", message=begun), _event("ping")]
    for index, (block, text) in enumerate(_content(answer)):
        pieces += _block(index, block, text)
    last: dict[str, Any] = {"delta": {"stop_reason": _STOPS[answer.finish], "stop_sequence": None}}
    if answer.usage:
        last["usage"] = {"output_tokens": answer.usage.output}
    return [*pieces, _event("message_delta", **last), _event("message_stop")]


#: The type of a block: its fields while it is empty, the type of its deltas, and the field they add to.
_BLOCKS: dict[str, tuple[dict[str, Any], str, str]] = {
    "thinking": ({"thinking": "", "signature": ""}, "thinking_delta", "thinking"),
    "text": ({"text": ""}, "text_delta", "text"),
    "tool_use": ({"input": {}}, "input_json_delta", "partial_json"),
}


def _block(index: int, block: Mapping[str, Any], text: str) -> list[Piece]:
    """The events of one content block."""
    empty, delta, name = _BLOCKS[block["type"]]
    pieces = [_event("content_block_start", index=index, content_block={**block, **empty})]
    for token in tokens(text):
        pieces.append(_event("content_block_delta", 1, index=index, delta={"type": delta, name: token}))
    if "signature" in block:
        signed = {"type": "signature_delta", "signature": block["signature"]}
        pieces.append(_event("content_block_delta", index=index, delta=signed))
    return [*pieces, _event("content_block_stop", index=index)]


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an HTTP error."""
    return {"type": "error", "error": {"type": code or _TYPES.get(status, "api_error"), "message": message}}


def error_event(message: str) -> Piece:
    """An error in the middle of a stream."""
    return _event("error", error={"type": "overloaded_error", "message": message})
