"""Splits a stream of bytes into lines, however the chunks fall and however long a line is.

A line that begins as JSON does is kept whole up to 64 MiB. Of any other long line only the head is kept:
it cannot be an event, and its bytes are in the recording of the output anyway.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

HEAD_BYTES = 16 * 1024
LIMIT_BYTES = 64 * 1024 * 1024

#: What may stand before the first brace: a byte order mark, blanks, colours and cursor moves of a terminal.
_LEADING = re.compile(rb"(?:\xef\xbb\xbf|[ \t\r]|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))*")


class Line(NamedTuple):
    """One line without its newline. `size` is its length in bytes; `content` is less of it when not `whole`.
    `too_long` tells a line that looked like JSON and passed the limit."""

    content: bytearray
    size: int
    whole: bool
    too_long: bool

    @property
    def text(self) -> str:
        """Its content as text; bytes that are not UTF-8 become lone surrogates, so nothing is lost."""
        return self.content.decode("utf-8", "surrogateescape")


class LineSplitter:
    """Takes chunks, gives lines; `rest` gives a last one that had no newline."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._short = min(HEAD_BYTES, limit)
        self._start()

    def _start(self) -> None:
        self._content = bytearray()
        self._size = 0
        self._full = False
        self._too_long = False
        self._looked = False

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        lines = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if self._size or end - start > self._short:
                self._add(memoryview(chunk)[start:end])
                lines.append(self._take())
            else:  # most lines are short and whole in their chunk
                lines.append(Line(bytearray(chunk[start:end]), end - start, True, False))
            start = end + 1
        if start < len(chunk):
            self._add(memoryview(chunk)[start:])
        return lines

    def rest(self) -> Line | None:
        """What came after the last newline, if anything."""
        return self._take() if self._size else None

    def _add(self, part: memoryview) -> None:
        self._size += len(part)
        if self._full:
            return
        self._content += part
        if len(self._content) > HEAD_BYTES and not self._looked:
            self._looked = True
            self._full = not begins_like_json(self._content)
        if self._size > self._limit:
            self._full = self._too_long = True
        if self._full:
            self._content = self._content[:HEAD_BYTES]

    def _take(self) -> Line:
        line = Line(self._content, self._size, not self._full, self._too_long)
        self._start()
        return line


def begins_like_json(content: bytes | bytearray) -> bool:
    """Whether the first thing on the line, after colours and blanks, opens an object or a list."""
    leading = _LEADING.match(content)
    at = leading.end() if leading else 0
    return content[at : at + 1] in (b"{", b"[")


def parse_object(line: Line) -> dict[str, Any] | None:
    """The JSON object on a line, or None when there is none. Never raises.

    Takes what strict parsers refuse and programs print: NaN, lone surrogates, numbers of any size, a byte
    order mark or colours before the object.
    """
    content = line.content
    if not line.whole:
        return None
    if not content.startswith(b"{"):
        if not begins_like_json(content):
            return None
        leading = _LEADING.match(content)
        content = content[leading.end() if leading else 0 :]
    try:
        value = json.loads(content.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects in a value are nested deeper than `depth`."""
    level = [value]
    for _ in range(depth):
        level = [
            below
            for each in level
            if isinstance(each, dict | list)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)
