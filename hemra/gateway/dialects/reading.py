"""Reads an answer from bytes: as a stream of events or as one document, whichever it turns out to be.

A server may answer a request for a stream with one document, an error above all, and the other way round; so the first
byte that is no blank decides. What the events mean says an `Assembly`, one a dialect.
"""

from __future__ import annotations

from typing import Any, Protocol

from hemra.gateway.dialects.content import as_dict, loads, loads_exactly, text_or_none
from hemra.gateway.dialects.sse import EventParser, ServerEvent
from hemra.gateway.memory import HEAVIEST, fits
from hemra.gateway.normal import Answer

#: Bytes of a document beyond which it is not read, only passed on.
LARGEST = 64 * 2**20

_BLANKS = b"\xef\xbb\xbf \t\r\n"


class Assembly(Protocol):
    """Puts an answer together. None of these raises."""

    pieces: int

    def event(self, name: str, data: dict[str, Any]) -> bool:
        """Take an event of a stream; false if the dialect has no such."""

    def document(self, body: dict[str, Any]) -> bool:
        """Take the whole answer at once; false if it is none."""

    def answer(self) -> Answer:
        """What was taken."""


class Reader:
    """An AnswerReader by an Assembly."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._parser: EventParser | None = None
        self._document: list[bytes] | None = None
        self._size = 0
        self._known = False

    @property
    def tokens(self) -> int:
        """How many pieces of text, reasoning or arguments were seen."""
        return self._assembly.pieces

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the body. Never raises, whatever they are."""
        self._size += len(chunk)
        if self._parser is None and self._document is None:
            start = chunk.lstrip(_BLANKS)
            if not start:
                return
            if start.startswith((b"{", b"[")):
                self._document = []
            else:
                self._parser = EventParser()
        if self._parser is not None:
            self._take(self._parser.feed(chunk))
        elif self._document is not None and self._size <= LARGEST:
            self._document.append(chunk)

    def finish(self) -> Answer:
        """The body is over, in order or not."""
        if self._parser is not None:
            self._take(self._parser.finish())
        if self._document is not None and self._size <= LARGEST:
            self._read(b"".join(self._document))
        answer = self._assembly.answer()
        answer.junk = self._size > 0 and not self._known and answer.error is None
        return answer

    def _take(self, events: list[ServerEvent]) -> None:
        for name, data in events:
            if data.strip() == b"[DONE]":
                self._known = True
                continue
            try:
                value = loads(data) if fits(data, HEAVIEST) else None
            except ValueError:
                continue
            if isinstance(value, dict) and self._assembly.event(name, value):
                self._known = True

    def _read(self, body: bytes) -> None:
        try:
            value = loads_exactly(body) if fits(body, HEAVIEST) else None
        except ValueError:
            return
        if isinstance(value, list) and len(value) == 1:
            value = value[0]  # Google's servers put an error into a list
        if self._assembly.document(as_dict(value)):
            self._known = True


def told_error(body: dict[str, Any]) -> Any:
    """What a body says went wrong, as it came; null if it does not say so. Forms of OpenAI, Anthropic, FastAPI,
    older vLLM and others."""
    if body.get("error"):
        return body["error"]
    if body.get("object") == "error" or body.get("type") == "error":
        return body
    for field in ("detail", "errors"):
        if isinstance(body.get(field), str | list | dict) and body[field]:
            return body[field]
    return body if text_or_none(body.get("message")) else None
