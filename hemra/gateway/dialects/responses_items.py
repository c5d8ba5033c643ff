"""The items of OpenAI's Responses: what a model's say, in requests and in answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hemra.gateway.dialects.content import (
    as_dict,
    as_list,
    as_text,
    content,
    freeform_call,
    function_call,
    part_text,
    texts_of,
)
from hemra.gateway.dialects.toolbox import in_namespace
from hemra.gateway.normal import Message, ToolCall

#: What tells an item apart from others of its kind, and says nothing.
_MARKS = ("id", "call_id", "type", "status", "output", "error")


def kind_of(item: dict[str, Any]) -> str:
    """The kind of an item; a message may leave it out."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


def is_models(item: dict[str, Any]) -> bool:
    """Whether an item is a model's own: its messages, its thoughts and its calls."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or kind.endswith("_call")


class Turn(msgspec.Struct):
    """What a model said between two things that it was told."""

    texts: list[str] = msgspec.field(default_factory=list)
    parts: list[Any] = msgspec.field(default_factory=list)
    thoughts: list[str] = msgspec.field(default_factory=list)
    sealed: list[Any] = msgspec.field(default_factory=list)
    calls: list[ToolCall] = msgspec.field(default_factory=list)

    def take(self, item: dict[str, Any]) -> None:
        """One more item."""
        kind = kind_of(item)
        if kind == "message":
            self._say(item.get("content"))
        elif kind == "reasoning":
            thought = texts_of(item.get("content"), "text") or texts_of(item.get("summary"), "text")
            if thought:
                self.thoughts.append(thought)
            elif item.get("encrypted_content"):
                self.sealed.append(item)
        else:
            self.calls.append(call_of(item))

    def _say(self, given: Any) -> None:
        said = content(given, joint="")
        if isinstance(said, str):
            self.texts.append(said)
        elif said is not None:
            self.parts += said if isinstance(said, list) else [said]

    @property
    def text(self) -> Any:
        """One text, messages apart by an empty line; with parts that are none, all as parts."""
        said = "\n\n".join(text for text in self.texts if text)
        if not self.parts:
            return said
        return [*([{"type": "output_text", "text": said}] if said else []), *self.parts]

    @property
    def reasoning(self) -> Any:
        """The thoughts as a text, else the items that only the provider can read, else null."""
        return "\n\n".join(self.thoughts) or self.sealed or None

    def message(self) -> Message:
        """The turn as a message."""
        return Message(role="assistant", text=self.text, reasoning=self.reasoning, calls=tuple(self.calls))


def turn_of(items: Iterable[Any]) -> Turn:
    """The turn that an answer's items are; what is no model's is left out. Some servers leave the role out."""
    turn = Turn()
    for item in items:
        if isinstance(item, dict) and (kind_of(item) == "message" or is_models(item)):
            turn.take(item)
    return turn


def plain_text(turn: Turn) -> str:
    """What a turn says, as far as it is text."""
    said = turn.text
    return said if isinstance(said, str) else "\n\n".join(text for p in said if (text := part_text(p)))


def call_of(item: dict[str, Any]) -> ToolCall:
    """The call in an item. The tools that the provider or a harness knows by kind alone have the kind as a name."""
    kind, name = kind_of(item), item.get("name")
    call = as_text(item.get("call_id")) or as_text(item.get("id"))
    if kind == "function_call":
        return function_call(call, in_namespace(item.get("namespace"), as_text(name)), item.get("arguments"))
    if kind == "custom_tool_call":
        return freeform_call(call, in_namespace(item.get("namespace"), as_text(name)), item.get("input"))
    if kind == "mcp_call":
        space = f"mcp__{as_text(item.get('server_label'))}"
        return function_call(call, in_namespace(space, as_text(name)), item.get("arguments"))
    rest = {field: value for field, value in item.items() if field not in _MARKS}
    return function_call(call, kind.removesuffix("_call"), as_dict(rest.get("action")) or rest)


def output_of(item: dict[str, Any]) -> Message:
    """What a tool gave back, as a message. Older Codex says whether it worked."""
    output = item.get("output")
    ok = None
    if isinstance(output, dict) and "content" in output:
        ok, output = output.get("success"), output["content"]
    elif output is None and isinstance(item.get("tools"), list):
        output = as_list(item["tools"])
    call = as_text(item.get("call_id")) or as_text(item.get("id"))
    return Message(role="tool", text=content(output), answers=call, ok=ok if isinstance(ok, bool) else None)
