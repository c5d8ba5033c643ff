"""OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hemra.gateway.dialects import sampling, toolbox
from hemra.gateway.dialects.chat_answer import ChatAssembly, reasoning_of, sealed_of
from hemra.gateway.dialects.content import (
    as_dict,
    as_list,
    as_text,
    bounded,
    content,
    freeform_call,
    function_call,
    text_or_none,
    unmarked,
)
from hemra.gateway.dialects.reading import Reader
from hemra.gateway.dialects.refusals import openai_type
from hemra.gateway.normal import AnswerReader, Message, Request, SamplingWish, Tool, ToolCall

_ROLES = {"developer": "system", "function": "tool"}
_APART = ("model", "messages", "tools", "functions")


class ChatDialect:
    """Chat completions, with the older functions, freeform tools, and reasoning as the open servers give it."""

    name = "chat"

    def owns(self, path: str) -> bool:
        """Whether a POST to this path asks for a completion."""
        return path.rstrip("/").endswith("/chat/completions")

    def read(self, body: dict[str, Any]) -> Request:
        """The request of a body. Never raises."""
        body = bounded(body)
        tools = [*as_list(body.get("tools")), *as_list(body.get("functions"))]
        return Request(
            model=text_or_none(body.get("model")),
            stream=body.get("stream") is True,
            parameters={name: value for name, value in body.items() if name not in _APART},
            tools=tuple(Tool(name=toolbox.tool_name(tool), definition=unmarked(tool)) for tool in tools),
            messages=tuple(_message(each) for each in as_list(body.get("messages"))),
        )

    def reader(self, *, stream: bool) -> AnswerReader:
        """A reader for an answer; its first byte tells what it is, whatever was asked for."""
        return Reader(ChatAssembly())

    def put_sampling(self, body: dict[str, Any], wish: SamplingWish) -> tuple[dict[str, Any], list[str]]:
        """Put the wish in. Top-k is no field of this dialect, though some servers take it."""
        return sampling.put(body, wish, ("temperature", "top_p", "seed"))

    def take_tools_out(self, body: dict[str, Any], unwanted: Callable[[str], bool]) -> list[str]:
        """Take tools out, in place. Returns their names."""
        return toolbox.take_out(body, unwanted)

    def error(self, status: int, code: str, message: str) -> bytes:
        """The body of an error."""
        return openai_error(status, code, message)


def openai_error(status: int, code: str, message: str) -> bytes:
    """The body of an error, the same in both of OpenAI's dialects."""
    error = {"message": message, "type": openai_type(status), "param": None, "code": code}
    return json.dumps({"error": error}).encode()


def _message(value: Any) -> Message:
    """A message; what is none is kept under the role `unknown`."""
    if not isinstance(value, dict):
        return Message(role="unknown", text=value)
    given = as_text(value.get("role")) or "unknown"
    role = _ROLES.get(given, given)
    if role == "tool":
        return Message(
            role=role, text=content(value.get("content")), answers=as_text(value.get("tool_call_id"))
        )
    if role != "assistant":
        return Message(role=role, text=content(value.get("content")))
    return Message(
        role=role,
        text=_said(value),
        reasoning=reasoning_of(value) or sealed_of(value) or None,
        calls=tuple(_call(each) for each in _calls(value)),
    )


def _said(value: dict[str, Any]) -> Any:
    """What an assistant's message says: without its thoughts, which stand apart."""
    said = value.get("content")
    if isinstance(said, list):
        said = [part for part in said if as_dict(part).get("type") != "thinking"]
    return content(said, joint="") or text_or_none(value.get("refusal"))


def _calls(value: dict[str, Any]) -> list[dict[str, Any]]:
    legacy = value.get("function_call")
    return [
        *(as_dict(each) for each in as_list(value.get("tool_calls"))),
        *([{"function": legacy}] if isinstance(legacy, dict) else []),
    ]


def _call(value: dict[str, Any]) -> ToolCall:
    custom = value.get("custom")
    if isinstance(custom, dict):
        return freeform_call(value.get("id"), custom.get("name"), custom.get("input"))
    function = as_dict(value.get("function"))
    return function_call(value.get("id"), function.get("name"), function.get("arguments"))
