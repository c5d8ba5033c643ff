"""OpenAI Responses: reasoning, messages, function calls and freeform calls as items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..exchange import Answer, Asked, BadRequest, Call, History, Offered, Piece, Usage, event, joined_text
from ..schemas import schema_of
from ..tokens import logprob, tokens
from . import chat

NAME = "responses"


def parse(body: Mapping[str, Any]) -> Asked:
    """Read a request. A chain by `previous_response_id` is refused: nothing is stored. Raises BadRequest."""
    if body.get("previous_response_id"):
        raise BadRequest("previous_response_id: this server stores no response; send the whole input")
    given = body.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise BadRequest("'input' must be a text or a list that is not empty")
    history = History()
    if body.get("instructions"):
        history.say("system", str(body["instructions"]))
    for item in given:
        if not isinstance(item, Mapping):
            raise BadRequest("every input item must be an object")
        _collect(history, item)
    formatted = (body.get("text") or {}).get("format") or {}
    include = body.get("include") or ()
    return Asked(
        dialect=NAME,
        model=str(body.get("model") or ""),
        stream=bool(body.get("stream")),
        messages=history.messages(),
        tools=tuple(_offered(body.get("tools") or ())),
        logprobs="message.output_text.logprobs" in include,
        encrypted_reasoning="reasoning.encrypted_content" in include,
        schema=(formatted.get("schema") or {}) if formatted.get("type") == "json_schema" else None,
    )


def _collect(history: History, item: Mapping[str, Any]) -> None:
    kind = item.get("type", "message")
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        text = output.get("content") if isinstance(output, Mapping) else output
        history.result(str(item.get("call_id")), joined_text(text))
    elif kind in ("function_call", "custom_tool_call"):
        given = item.get("arguments" if kind == "function_call" else "input")
        history.call(str(item.get("call_id")), str(item.get("name")), str(given or ""))
    elif kind == "message":
        history.say(str(item.get("role")), joined_text(item.get("content")))
    elif kind == "reasoning":
        history.say("assistant", "")


def _offered(listed: Iterable[Any], namespace: str | None = None) -> Iterator[Offered]:
    """The tools that can be called by name; what the provider itself would run has none."""
    for tool in listed:
        if not isinstance(tool, Mapping):
            raise BadRequest("every tool must be an object")
        if tool.get("type") == "namespace":
            yield from _offered(tool.get("tools") or (), str(tool.get("name")))
        elif tool.get("type") in ("function", "custom"):
            if not tool.get("name"):
                raise BadRequest(f"a tool of type {tool['type']!r} has no name")
            yield Offered(str(tool["name"]), tool["type"], schema_of(tool.get("parameters")), namespace)


def usage(used: Usage) -> dict[str, Any]:
    """Usage as this dialect's provider writes it."""
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cache_read},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }


def _reasoning(answer: Answer, encrypted: bool) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": f"rs_{answer.id}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": answer.reasoning}],
    }
    if encrypted:
        item["encrypted_content"] = hashlib.sha256(answer.reasoning.encode("utf-8", "replace")).hexdigest()
    return item


def _message(answer: Answer) -> dict[str, Any]:
    part = _part(answer.text, answer.logprobs)
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "status": "incomplete" if answer.finish == "length" else "completed",
        "content": [part],
    }


def _part(text: str, logprobs: bool) -> dict[str, Any]:
    return {
        "type": "output_text",
        "text": text,
        "annotations": [],
        "logprobs": _logprobs(tokens(text)) if logprobs else [],
    }


def _logprobs(listed: list[str]) -> list[dict[str, Any]]:
    return [
        {"token": t, "logprob": logprob(t), "bytes": list(t.encode("utf-8", "replace")), "top_logprobs": []}
        for t in listed
    ]


def call_id(answer: Answer, number: int) -> str:
    """The id of one of the calls, counted from 0."""
    return chat.call_id(answer, number)


def _call(answer: Answer, number: int, call: Call) -> dict[str, Any]:
    custom = call.kind == "custom"
    item = {
        "id": f"{'ctc' if custom else 'fc'}_{answer.id}_{number}",
        "type": "custom_tool_call" if custom else "function_call",
        "status": "completed",
        "call_id": call_id(answer, number),
        "name": call.name,
        "input" if custom else "arguments": call.arguments,
    }
    return item | ({"namespace": call.namespace} if call.namespace else {})


def _items(answer: Answer, encrypted: bool) -> list[dict[str, Any]]:
    items = [_reasoning(answer, encrypted)] if answer.reasoning else []
    items += [_message(answer)] if answer.text or (answer.finish == "length" and not answer.calls) else []
    return items + [_call(answer, number, call) for number, call in enumerate(answer.calls)]


def whole(answer: Answer, asked: Asked) -> dict[str, Any]:
    """The answer as one JSON object."""
    encrypted = asked.encrypted_reasoning
    cut = answer.finish == "length"
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": chat.CREATED,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": _items(answer, encrypted),
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": usage(answer.usage) if answer.usage else None,
    }


class _Events:
    """Numbers the events of one stream."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def add(self, kind: str, carried: int = 0, **fields: Any) -> None:
        """One more event."""
        body = {"type": kind, "sequence_number": len(self.pieces), **fields}
        self.pieces.append(event(kind, body, carried))


def stream(answer: Answer, asked: Asked) -> list[Piece]:
    """The answer as server-sent events, a token an event; usage comes with the last one."""
    done = whole(answer, asked)
    begun = done | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events = _Events()
    events.add("response.created", response=begun)
    events.add("response.in_progress", response=begun)
    for index, item in enumerate(done["output"]):
        _ITEMS[item["type"]](events, index, item, answer)
    events.add(f"response.{done['status']}", response=done)
    return events.pieces


def _stream_reasoning(events: _Events, index: int, item: dict[str, Any], answer: Answer) -> None:
    place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    events.add("response.output_item.added", output_index=index, item=item | {"summary": []})
    part = "response.reasoning_summary_part"
    events.add(f"{part}.added", **place, part={"type": "summary_text", "text": ""})
    for token in tokens(answer.reasoning):
        events.add("response.reasoning_summary_text.delta", 1, **place, delta=token)
    events.add("response.reasoning_summary_text.done", **place, text=answer.reasoning)
    events.add(f"{part}.done", **place, part=item["summary"][0])
    events.add("response.output_item.done", output_index=index, item=item)


def _stream_message(events: _Events, index: int, item: dict[str, Any], answer: Answer) -> None:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    begun = item | {"status": "in_progress", "content": []}
    events.add("response.output_item.added", output_index=index, item=begun)
    events.add("response.content_part.added", **place, part=_part("", False))
    for token in tokens(answer.text):
        lists = _logprobs([token]) if answer.logprobs else []
        events.add("response.output_text.delta", 1, **place, delta=token, logprobs=lists)
    part = item["content"][0]
    events.add("response.output_text.done", **place, text=answer.text, logprobs=part["logprobs"])
    events.add("response.content_part.done", **place, part=part)
    events.add("response.output_item.done", output_index=index, item=item)


def _stream_call(events: _Events, index: int, item: dict[str, Any], answer: Answer) -> None:
    custom = item["type"] == "custom_tool_call"
    name = "input" if custom else "arguments"
    kind = "response.custom_tool_call_input" if custom else "response.function_call_arguments"
    place = {"item_id": item["id"], "output_index": index}
    begun = item | {"status": "in_progress", name: ""}
    events.add("response.output_item.added", output_index=index, item=begun)
    for token in tokens(item[name]):
        events.add(f"{kind}.delta", 1, **place, delta=token)
    extra = {} if custom else {"name": item["name"]}
    events.add(f"{kind}.done", **place, **{name: item[name]}, **extra)
    events.add("response.output_item.done", output_index=index, item=item)


_ITEMS = {
    "reasoning": _stream_reasoning,
    "message": _stream_message,
    "function_call": _stream_call,
    "custom_tool_call": _stream_call,
}


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an HTTP error."""
    return chat.error(status, message, code)


def error_event(message: str) -> Piece:
    """An error in the middle of a stream."""
    body = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
    return event("error", body)
