"""OpenAI chat completions, with `reasoning_content` and the token ids that vLLM adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..exchange import Answer, Asked, BadRequest, Call, History, Offered, Piece, Usage, joined_text, wire
from ..schemas import schema_of
from ..tokens import logprob, token_id, tokens

NAME = "chat"
#: Every answer carries the same time, so that the same request gives the same bytes.
CREATED = 1_767_225_600

_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "insufficient_quota", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


def parse(body: Mapping[str, Any]) -> Asked:
    """Read a request. Raises BadRequest."""
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise BadRequest("'messages' must be a list that is not empty")
    history = History()
    for message in listed:
        if not isinstance(message, Mapping):
            raise BadRequest("every message must be an object")
        _collect(history, message)
    options = body.get("stream_options") or {}
    formatted = body.get("response_format") or {}
    return Asked(
        dialect=NAME,
        model=str(body.get("model") or ""),
        stream=bool(body.get("stream")),
        messages=history.messages(),
        tools=tuple(_offered(tool) for tool in body.get("tools") or ()),
        include_usage=bool(options.get("include_usage")),
        logprobs=bool(body.get("logprobs")),
        schema=_schema(formatted),
    )


def _schema(formatted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if formatted.get("type") == "json_schema":
        schema = (formatted.get("json_schema") or {}).get("schema")
        return schema if isinstance(schema, Mapping) else {}
    return {} if formatted.get("type") == "json_object" else None


def _collect(history: History, message: Mapping[str, Any]) -> None:
    role, text = str(message.get("role")), joined_text(message.get("content"))
    if role == "tool":
        history.result(str(message.get("tool_call_id")), text)
        return
    history.say(role, text)
    for call in message.get("tool_calls") or ():
        custom = call.get("custom")
        detail = custom or call.get("function") or {}
        given = detail.get("input" if custom else "arguments")
        history.call(str(call.get("id")), str(detail.get("name")), str(given or ""))


def _offered(tool: Any) -> Offered:
    if not isinstance(tool, Mapping):
        raise BadRequest("every tool must be an object")
    kind = "custom" if tool.get("type") == "custom" else "function"
    detail = tool.get(kind)
    if not isinstance(detail, Mapping) or not detail.get("name"):
        raise BadRequest(f"a tool of type {tool.get('type')!r} has no name under {kind!r}")
    return Offered(str(detail["name"]), kind, schema_of(detail.get("parameters")))


def usage(used: Usage) -> dict[str, Any]:
    """Usage as this dialect's provider writes it."""
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cache_read},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }


def call_id(answer: Answer, number: int) -> str:
    """The id of one of the calls, counted from 0."""
    return f"call_{answer.id}_{number}"


def _call(answer: Answer, number: int, call: Call, arguments: str) -> dict[str, Any]:
    said = {"name": call.name, "input" if call.kind == "custom" else "arguments": arguments}
    return {"id": call_id(answer, number), "type": call.kind, call.kind: said}


def _logprobs(text: str) -> dict[str, Any]:
    return {
        "content": [
            {
                "token": t,
                "logprob": logprob(t),
                "bytes": list(t.encode("utf-8", "replace")),
                "top_logprobs": [],
            }
            for t in tokens(text)
        ]
    }


def _ids(answer: Answer) -> list[int]:
    said = answer.reasoning, answer.text, *(call.arguments for call in answer.calls)
    return [token_id(token) for text in said for token in tokens(text)]


def whole(answer: Answer, asked: Asked) -> dict[str, Any]:
    """The answer as one JSON object."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or (None if answer.calls else "")}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_call(answer, n, c, c.arguments) for n, c in enumerate(answer.calls)]
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "logprobs": _logprobs(answer.text) if answer.logprobs else None,
        "finish_reason": answer.finish,
    }
    body = _head(answer, "chat.completion") | {"choices": [choice]}
    if answer.token_ids:
        choice["token_ids"] = _ids(answer)
        body["prompt_token_ids"] = list(answer.prompt_token_ids)
    if answer.usage:
        body["usage"] = usage(answer.usage)
    return body


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": CREATED, "model": answer.model}


def _event(body: Mapping[str, Any], carried: int = 0) -> Piece:
    return Piece(b"data: " + wire(body) + b"\n\n", carried)


def stream(answer: Answer, asked: Asked) -> list[Piece]:
    """The answer as server-sent events, a token an event; usage only where the request asks for it."""
    head = _head(answer, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None, token: str | None = None) -> Piece:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
        if token is not None and answer.token_ids:
            choice["token_ids"] = [token_id(token)]
        if "content" in delta and token is not None and answer.logprobs:
            choice["logprobs"] = _logprobs(token)
        extra = (
            {"prompt_token_ids": list(answer.prompt_token_ids)}
            if "role" in delta and answer.token_ids
            else {}
        )
        return _event({**head, "choices": [choice], **extra}, token is not None)

    pieces = [chunk({"role": "assistant", "content": ""}, None)]
    pieces += [chunk(delta, None, token) for delta, token in _deltas(answer)]
    pieces.append(chunk({}, answer.finish))
    if asked.include_usage and answer.usage:
        pieces.append(_event({**head, "choices": [], "usage": usage(answer.usage)}))
    return [*pieces, Piece(b"data: [DONE]\n\n")]


def _deltas(answer: Answer) -> Iterator[tuple[dict[str, Any], str | None]]:
    """What each event adds, and the token that it carries."""
    for token in tokens(answer.reasoning):
        yield {"reasoning_content": token}, token
    for token in tokens(answer.text):
        yield {"content": token}, token
    for number, call in enumerate(answer.calls):
        yield {"tool_calls": [{"index": number, **_call(answer, number, call, "")}]}, None
        name = "input" if call.kind == "custom" else "arguments"
        for token in tokens(call.arguments):
            yield {"tool_calls": [{"index": number, call.kind: {name: token}}]}, token


def error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an HTTP error."""
    kind = _TYPES.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code or kind}}


def error_event(message: str) -> Piece:
    """An error in the middle of a stream."""
    return _event(error(500, message))
