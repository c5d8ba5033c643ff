"""OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hemra.gateway.dialects import sampling, toolbox
from hemra.gateway.dialects.chat import openai_error
from hemra.gateway.dialects.content import as_dict, as_list, as_text, bounded, content, text_or_none, unmarked
from hemra.gateway.dialects.reading import Reader
from hemra.gateway.dialects.responses_answer import ResponsesAssembly
from hemra.gateway.dialects.responses_items import Turn, is_models, kind_of, output_of
from hemra.gateway.normal import AnswerReader, Message, Request, SamplingWish, Tool

_APART = ("model", "input", "instructions", "tools")


class ResponsesDialect:
    """Responses, with freeform tools, tools in namespaces, and reasoning that comes back sealed."""

    name = "responses"

    def owns(self, path: str) -> bool:
        """Whether a POST to this path asks for a response."""
        return path.rstrip("/").endswith("/responses")

    def read(self, body: dict[str, Any]) -> Request:
        """The request of a body. Never raises."""
        body = bounded(body)
        instructions = body.get("instructions")
        given = body.get("input")
        items = (
            given
            if isinstance(given, list)
            else []
            if given is None
            else [{"role": "user", "content": given}]
        )
        system = [Message(role="system", text=content(instructions))] if instructions else []
        return Request(
            model=text_or_none(body.get("model")),
            stream=body.get("stream") is True,
            parameters={name: value for name, value in body.items() if name not in _APART},
            tools=tuple(tool for each in as_list(body.get("tools")) for tool in _tools(each)),
            messages=(*system, *_messages(items)),
        )

    def reader(self, *, stream: bool) -> AnswerReader:
        """A reader for an answer; its first byte tells what it is, whatever was asked for."""
        return Reader(ResponsesAssembly())

    def put_sampling(self, body: dict[str, Any], wish: SamplingWish) -> tuple[dict[str, Any], list[str]]:
        """Put the wish in. There are no fields for top-k and a seed."""
        return sampling.put(body, wish, ("temperature", "top_p"))

    def take_tools_out(self, body: dict[str, Any], unwanted: Callable[[str], bool]) -> list[str]:
        """Take tools out, in place, those in namespaces too. Returns their names."""
        return toolbox.take_out(body, unwanted)

    def error(self, status: int, code: str, message: str) -> bytes:
        """The body of an error."""
        return openai_error(status, code, message)


def _tools(tool: Any) -> Iterator[Tool]:
    """The tools of one definition: a namespace has many, each given with the namespace around it."""
    definition = as_dict(tool)
    if definition.get("type") != "namespace":
        yield Tool(name=toolbox.tool_name(tool), definition=unmarked(tool))
        return
    for inner in as_list(definition.get("tools")):
        name = toolbox.in_namespace(definition.get("name"), toolbox.tool_name(inner))
        yield Tool(name=name, definition=definition | {"tools": [inner]})


def _messages(items: list[Any]) -> Iterator[Message]:
    """The messages of the input. A model's items in a row are one turn."""
    turn: Turn | None = None
    for item in items:
        if isinstance(item, dict) and is_models(item):
            turn = turn or Turn()
            turn.take(item)
            continue
        if turn is not None:
            yield turn.message()
            turn = None
        yield _message(item)
    if turn is not None:
        yield turn.message()


def _message(item: Any) -> Message:
    """An item that is no model's; one of a kind that is not known is kept as it came."""
    if not isinstance(item, dict):
        return Message(role="unknown", text=item)
    kind, role = kind_of(item), as_text(item.get("role"))
    if kind == "message":
        return Message(
            role="system" if role == "developer" else role or "unknown", text=content(item.get("content"))
        )
    if kind.endswith("_output"):
        return output_of(item)
    return Message(role=role or "unknown", text=[item])
