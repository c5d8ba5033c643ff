"""Puts an answer of OpenAI's Responses together."""

from __future__ import annotations

from typing import Any

import msgspec

from hemra.gateway.dialects.content import as_dict, as_list, as_text, text_or_none
from hemra.gateway.dialects.reading import told_error
from hemra.gateway.dialects.responses_items import plain_text, turn_of
from hemra.gateway.normal import Answer
from hemra.gateway.usage_forms import responses_usage

#: Events that bring a piece of an item: the item's kind, the list that the piece belongs to and the kind of the part
#: (both empty where it belongs to a field), and that field.
_PIECES: dict[str, tuple[str, str, str, str]] = {
    "response.output_text": ("message", "content", "output_text", "text"),
    "response.refusal": ("message", "content", "refusal", "refusal"),
    "response.reasoning_text": ("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning": ("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("reasoning", "summary", "summary_text", "text"),
    "response.reasoning_summary": ("reasoning", "summary", "summary_text", "text"),
    "response.function_call_arguments": ("function_call", "", "", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "", "", "input"),
    "response.mcp_call_arguments": ("mcp_call", "", "", "arguments"),
}
_FINISHED = ("completed", "incomplete")


class _Item(msgspec.Struct):
    """An item that comes in pieces: how it began, its pieces by place, and the whole once that came."""

    begun: dict[str, Any]
    pieces: dict[tuple[str, int, str, str], list[str]] = msgspec.field(default_factory=dict)
    logprobs: list[Any] = msgspec.field(default_factory=list)
    done: dict[str, Any] | None = None

    def whole(self) -> dict[str, Any]:
        """The item as it would stand in a document, as far as it came: pieces fill in what it leaves empty."""
        item = self.begun | (self.done or {})
        lists: dict[str, list[Any]] = {"content": [], "summary": []}
        for (into, _, kind, field), texts in sorted(self.pieces.items()):
            if into:
                lists[into].append({"type": kind, field: "".join(texts)})
            elif not item.get(field):
                item[field] = "".join(texts)
        return item | {name: parts for name, parts in lists.items() if parts and not item.get(name)}


class ResponsesAssembly:
    """An Assembly for Responses."""

    def __init__(self) -> None:
        self.pieces = 0
        self._items: dict[int, _Item] = {}
        self._response: dict[str, Any] = {}
        self._error: Any = None

    def event(self, name: str, data: dict[str, Any]) -> bool:
        """Take an event: it says its type itself, or by its name."""
        kind = as_text(data.get("type")) or name
        stem, _, end = kind.rpartition(".")
        if stem in _PIECES and end in ("delta", "done"):
            self._piece(_PIECES[stem], data, done=end == "done")
        elif kind == "response.output_item.added":
            self._item(data).begun = as_dict(data.get("item"))
        elif kind == "response.output_item.done":
            self._item(data).done = as_dict(data.get("item"))
        elif isinstance(data.get("response"), dict):
            self._take(data["response"])
        elif kind == "error" or (data.get("error") and not kind.startswith("response.")):
            self._error = told_error(data)
            return self._error is not None
        return kind.startswith("response.")

    def document(self, body: dict[str, Any]) -> bool:
        """Take the whole response, or an error in its place."""
        if body.get("object") != "response" and not isinstance(body.get("output"), list):
            self._error = told_error(body)
            return self._error is not None
        self._take(body)
        self.pieces += len(self._items)
        return True

    def _take(self, response: dict[str, Any]) -> None:
        """A response as it stands. Only at its end it holds what was said, and from some servers not even then."""
        self._response = self._response | {
            name: value for name, value in response.items() if value is not None
        }
        self._error = response.get("error") or self._error
        items = [item for item in as_list(response.get("output")) if isinstance(item, dict)]
        if items:
            self._items = {number: _Item({}, done=item) for number, item in enumerate(items)}

    def _item(self, data: dict[str, Any]) -> _Item:
        index = data.get("output_index")
        return self._items.setdefault(index if isinstance(index, int) else 0, _Item({}))

    def _piece(self, place: tuple[str, str, str, str], data: dict[str, Any], *, done: bool) -> None:
        kind, into, part, field = place
        text = as_text(data.get(field) if done else data.get("delta"))
        if not text:
            return
        item = self._item(data)
        item.begun = item.begun or {"type": kind, "role": "assistant"}
        number = data.get("summary_index" if into == "summary" else "content_index")
        key = (into, number if isinstance(number, int) else 0, part, field)
        if done:
            self.pieces += key not in item.pieces
            item.pieces[key] = [text]
            return
        item.pieces.setdefault(key, []).append(text)
        item.logprobs += as_list(data.get("logprobs"))
        self.pieces += 1

    def answer(self) -> Answer:
        """What was taken."""
        response, items = self._response, [self._items[number] for number in sorted(self._items)]
        turn = turn_of(item.whole() for item in items)
        status = text_or_none(response.get("status"))
        reason = text_or_none(as_dict(response.get("incomplete_details")).get("reason"))
        usage = response.get("usage")
        return Answer(
            id=text_or_none(response.get("id")),
            model=text_or_none(response.get("model")),
            text=plain_text(turn),
            reasoning=turn.reasoning,
            calls=tuple(turn.calls),
            finish_reason=(reason or status) if status in _FINISHED else None,
            usage=responses_usage(usage),
            raw_usage=usage,
            logprobs=[each for item in items for each in _logprobs(item)] or None,
            complete=status in _FINISHED and self._error is None,
            error=self._error,
        )


def _logprobs(item: _Item) -> list[Any]:
    """Of each token of the text: with its parts at the end, or piece by piece before."""
    parts = [as_dict(part) for part in as_list((item.done or {}).get("content"))]
    return [each for part in parts for each in as_list(part.get("logprobs"))] or item.logprobs
