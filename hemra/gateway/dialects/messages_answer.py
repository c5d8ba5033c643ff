"""Puts an answer of Anthropic's Messages together."""

from __future__ import annotations

from typing import Any

import msgspec

from hemra.gateway.dialects.content import as_dict, as_list, as_text, part_text, text_or_none
from hemra.gateway.dialects.messages_blocks import sorted_blocks
from hemra.gateway.dialects.reading import told_error
from hemra.gateway.normal import Answer
from hemra.gateway.usage_forms import messages_usage

#: What a delta adds to: its type, its own field, the field of the block.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
}
_EVENTS = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "ping",
)  # fmt: skip


class _Block(msgspec.Struct):
    """A block that comes in pieces: how it began, and what was added to one of its fields."""

    begun: dict[str, Any]
    field: str = ""
    pieces: list[str] = msgspec.field(default_factory=list)

    def whole(self) -> dict[str, Any]:
        """The block as it would stand in a document; a call's input as the text that was written."""
        if not self.pieces:
            return self.begun
        first = self.begun.get(self.field)
        return self.begun | {self.field: (first if isinstance(first, str) else "") + "".join(self.pieces)}


class MessagesAssembly:
    """An Assembly for Anthropic's Messages."""

    def __init__(self) -> None:
        self.pieces = 0
        self._blocks: dict[Any, _Block] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._stop: str | None = None
        self._usage: dict[str, Any] | None = None
        self._counted = False
        self._error: Any = None

    def event(self, name: str, data: dict[str, Any]) -> bool:
        """Take an event: it says its type itself, or by its name."""
        kind = as_text(data.get("type")) or name
        if kind == "message_start":
            self._head(as_dict(data.get("message")))
        elif kind == "content_block_start":
            block = as_dict(data.get("content_block"))
            self._blocks[_index(data)] = _Block(block)
            self.pieces += any(bool(block.get(field)) for _, field in _DELTAS.values())
        elif kind == "content_block_delta":
            self._add(_index(data), as_dict(data.get("delta")))
        elif kind == "message_delta":
            delta = as_dict(data.get("delta"))
            self._stop = text_or_none(delta.get("stop_reason")) or self._stop
            self._account(data.get("usage") or delta.get("usage"), at_end=True)
        elif kind not in _EVENTS:
            error = told_error(data) if kind == "error" or "error" in data else None
            self._error = error or self._error
            return error is not None
        return True

    def document(self, body: dict[str, Any]) -> bool:
        """Take the whole message, or an error in its place."""
        if body.get("type") != "message" and not isinstance(body.get("content"), list):
            self._error = told_error(body)
            return self._error is not None
        self._head(body)
        self._counted = True
        return True

    def _head(self, message: dict[str, Any]) -> None:
        """A message, whole or as it begins."""
        self._id = text_or_none(message.get("id")) or self._id
        self._model = text_or_none(message.get("model")) or self._model
        self._stop = text_or_none(message.get("stop_reason")) or self._stop
        self._account(message.get("usage"))
        for index, block in enumerate(as_list(message.get("content"))):
            if isinstance(block, dict):
                self._blocks[index] = _Block(block)
                self.pieces += 1

    def _add(self, index: Any, delta: dict[str, Any]) -> None:
        own, field = _DELTAS.get(as_text(delta.get("type")), ("", ""))
        text = as_text(delta.get(own))
        if not text:
            return
        kind = {"input": "tool_use"}.get(field, field)
        block = self._blocks.setdefault(index, _Block({"type": kind}))
        block.field = field
        block.pieces.append(text)
        self.pieces += 1

    def _account(self, usage: Any, *, at_end: bool = False) -> None:
        """Numbers are sums so far, told at the beginning, at the end or at both: the largest is the last one.

        Compatible servers repeat a number as 0 where they do not know it any more, or not yet.
        """
        if not isinstance(usage, dict):
            return
        self._usage = dict(self._usage or {})
        self._counted = self._counted or at_end
        for name, value in usage.items():
            before = self._usage.get(name)
            if value is None or (_is_number(value) and _is_number(before) and before > value):
                self._usage.setdefault(name, value)
            else:
                self._usage[name] = value

    def answer(self) -> Answer:
        """What was taken."""
        found = sorted_blocks(block.whole() for block in self._blocks.values())
        usage = messages_usage(self._usage)
        if usage is not None and not self._counted:
            usage = msgspec.structs.replace(
                usage, output_tokens=None
            )  # what the beginning says is no count of it
        return Answer(
            id=self._id,
            model=self._model,
            text="".join(part_text(part) or "" for part in found.parts),
            reasoning=found.reasoning,
            calls=tuple(found.calls),
            finish_reason=self._stop,
            usage=usage,
            raw_usage=self._usage,
            complete=self._stop is not None and self._error is None,
            error=self._error,
        )


def _index(data: dict[str, Any]) -> Any:
    index = data.get("index")
    return index if isinstance(index, int) else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
