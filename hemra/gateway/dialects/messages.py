"""Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hemra.gateway.dialects import sampling, toolbox
from hemra.gateway.dialects.content import as_dict, as_list, as_text, bounded, content, text_or_none, unmarked
from hemra.gateway.dialects.messages_answer import MessagesAssembly
from hemra.gateway.dialects.messages_blocks import is_result, result, sorted_blocks
from hemra.gateway.dialects.reading import Reader
from hemra.gateway.dialects.refusals import anthropic_type
from hemra.gateway.normal import AnswerReader, Message, Request, SamplingWish, Tool

_APART = ("model", "messages", "system", "tools")
#: Claude Code puts a header among the system blocks, with a check sum of the request: another one every time.
_HEADER = "x-anthropic-billing-header"
#: Least top-p that is taken beside thinking.
_LEAST_TOP_P = 0.95


class MessagesDialect:
    """Messages, with thinking, system messages amid the others, and tools that the provider runs itself."""

    name = "messages"

    def owns(self, path: str) -> bool:
        """Whether a POST to this path asks for a message. (OpenAI's threads have paths that end alike.)"""
        path = path.rstrip("/")
        return path.endswith("/v1/messages") or path == "/messages"

    def read(self, body: dict[str, Any]) -> Request:
        """The request of a body. Never raises."""
        body = bounded(body)
        parameters = {name: value for name, value in body.items() if name not in _APART}
        system = _system(body.get("system"), parameters)
        return Request(
            model=text_or_none(body.get("model")),
            stream=body.get("stream") is True,
            parameters=parameters,
            tools=tuple(
                Tool(name=toolbox.tool_name(tool), definition=unmarked(tool))
                for tool in as_list(body.get("tools"))
            ),
            messages=(*system, *(m for each in as_list(body.get("messages")) for m in _messages(each))),
        )

    def reader(self, *, stream: bool) -> AnswerReader:
        """A reader for an answer; its first byte tells what it is, whatever was asked for."""
        return Reader(MessagesAssembly())

    def put_sampling(self, body: dict[str, Any], wish: SamplingWish) -> tuple[dict[str, Any], list[str]]:
        """Put the wish in. There is no field for a seed; beside thinking a temperature other than 1, top-k, and
        top-p below 0.95 are errors, and are left out."""
        fields = ["temperature", "top_p", "top_k"]
        if as_dict(body.get("thinking")).get("type") in ("enabled", "adaptive"):
            fields = ["temperature"] if wish.temperature == 1 else []
            fields += ["top_p"] if _LEAST_TOP_P <= (wish.top_p or 0) <= 1 else []
        return sampling.put(body, wish, fields)

    def take_tools_out(self, body: dict[str, Any], unwanted: Callable[[str], bool]) -> list[str]:
        """Take tools out, in place. Returns their names."""
        return toolbox.take_out(body, unwanted)

    def error(self, status: int, code: str, message: str) -> bytes:
        """The body of an error. `code` has no place of its own in this dialect and stands beside the message."""
        error = {"type": anthropic_type(status), "message": message, "code": code}
        return json.dumps({"type": "error", "error": error}).encode()


def _system(given: Any, parameters: dict[str, Any]) -> list[Message]:
    """The system prompt. What is no part of it goes to the parameters, by its name."""
    if not isinstance(given, list):
        return [Message(role="system", text=given)] if given else []
    blocks = []
    for block in given:
        text = as_text(as_dict(block).get("text"))
        if text.startswith(_HEADER + ":"):
            parameters[_HEADER] = text.removeprefix(_HEADER + ":").strip()
        else:
            blocks.append(block)
    return [Message(role="system", text=content(blocks))] if blocks else []


def _messages(value: Any) -> Iterator[Message]:
    """The messages in one of this dialect's: a user's may hold results besides what the user says."""
    if not isinstance(value, dict):
        yield Message(role="unknown", text=value)
        return
    role, given = as_text(value.get("role")) or "unknown", value.get("content")
    if role == "assistant":
        yield from _assistant(given)
        return
    said: list[Any] = []
    for block in given if isinstance(given, list) else []:
        if isinstance(block, dict) and is_result(block):
            if said:
                yield Message(role=role, text=content(said))
                said = []
            yield result(block)
        else:
            said.append(block)
    if said or not isinstance(given, list):
        yield Message(role=role, text=content(said) if isinstance(given, list) else given)


def _assistant(given: Any) -> Iterator[Message]:
    """What a model said, and the results of tools that the provider ran, which stand amid it."""
    if not isinstance(given, list):
        yield Message(role="assistant", text=given)
        return
    found = sorted_blocks(given)
    yield Message(
        role="assistant",
        text=content(found.parts, joint=""),
        reasoning=found.reasoning,
        calls=tuple(found.calls),
    )
    yield from found.results
