"""Puts the folders of a new trial in the place of a recorded one's, in an answer of a model.

Models repeat the paths that they are told, and streams cut them into pieces anywhere. A path that stands in pieces is
put together in the first of them and taken out of the others, so that a stream keeps its events and their order. Only
lines that change are written anew. What a provider has signed (thoughts, encrypted reasoning) stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Fields of an event that go on with a text of the events before it: chat, messages, responses.
_PIECES = {"content", "arguments", "delta", "text", "partial_json", "input"}
_SIGNED = {"thinking", "signature", "encrypted_content", "reasoning_details"}
#: Fields that tell texts apart which are told side by side.
_WHICH = ("index", "output_index", "content_index", "item_id")


class _Exchange:
    """Old names and what stands in their place. What is put in is never looked at again."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        longest_first = sorted(names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """The text with all of them exchanged."""
        return self._pattern.sub(lambda found: self._names[found[0]], text)

    def places(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, new name) of all of them, in order."""
        return [(found.start(), found.end(), self._names[found[0]]) for found in self._pattern.finditer(text)]

    def value(self, value: Any, *, but: frozenset[str] = frozenset()) -> Any:
        """Any JSON value with those in its texts exchanged, `but` in texts under these keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item, but=but) for item in value]
        if isinstance(value, dict):
            return {
                key: item
                if key in _SIGNED or (key in but and isinstance(item, str))
                else self.value(item, but=but)
                for key, item in value.items()
            }
        return value


def moved(body: bytes, names: Mapping[str, str]) -> bytes:
    """The body with every old name (a folder's path) exchanged for its new one; itself where none is in it."""
    names = {then: now for then, now in names.items() if then and then != now}
    if not names:
        return body
    exchange = _Exchange(names)
    if body.lstrip().startswith((b"data:", b"event:", b":")):
        return _stream(body, exchange)
    if not any(then.encode() in body for then in names):
        return body
    try:
        return _written(exchange.value(json.loads(body)))
    except (ValueError, RecursionError):
        return exchange.text(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _stream(body: bytes, exchange: _Exchange) -> bytes:
    """Server-sent events; lines that are no data of JSON stay as they are."""
    lines = body.split(b"\n")
    data: dict[int, Any] = {}
    for number, line in enumerate(lines):
        if line.startswith(b"data:"):
            try:
                data[number] = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
    before = {number: _written(value) for number, value in data.items()}
    data = {number: exchange.value(value, but=frozenset(_PIECES)) for number, value in data.items()}
    told: dict[tuple[Any, ...], list[_Piece]] = {}
    for value in data.values():
        kind = value.get("type") if isinstance(value, dict) else None
        for piece in _pieces(value, (kind,)):
            told.setdefault(piece.which, []).append(piece)
    for pieces in told.values():
        _exchange_across(pieces, exchange)
    for number, value in data.items():
        if (after := _written(value)) != before[number]:
            ending = b"\r" if lines[number].endswith(b"\r") else b""
            lines[number] = b"data: " + after + ending
    return b"\n".join(lines)


@dataclass
class _Piece:
    """A text in one event, `holder[key]`, and which text of the whole answer it is a piece of."""

    holder: dict[str, Any]
    key: str
    which: tuple[Any, ...]


def _pieces(value: Any, which: tuple[Any, ...]) -> Iterator[_Piece]:
    if isinstance(value, list):
        for item in value:
            yield from _pieces(item, which)
    elif isinstance(value, dict):
        own = (*which, *(value.get(name) for name in _WHICH))
        for key, item in value.items():
            if isinstance(item, str) and key in _PIECES:
                yield _Piece(value, key, (*own, key))
            elif key not in _SIGNED:
                yield from _pieces(item, (*own, key))


def _exchange_across(pieces: Sequence[_Piece], exchange: _Exchange) -> None:
    """Exchange names in a text that stands in pieces. The piece in which one begins gets the new one."""
    texts = [str(piece.holder[piece.key]) for piece in pieces]
    whole = "".join(texts)
    places = exchange.places(whole)
    start = 0
    for piece, text in zip(pieces, texts, strict=True):
        end, at, out = start + len(text), start, ""
        for low, high, now in places:
            if high <= start or low >= end:
                continue
            if low >= start:
                out += whole[at:low] + now
            at = min(high, end)
        if out or at != start:
            piece.holder[piece.key] = out + whole[at:end]
        start = end
