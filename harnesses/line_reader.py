"""Reads what a program prints as one JSON object a line: each by its kind, and the rest kept as it came.

Reading goes on whatever comes: a line that is not understood is counted and becomes a note, and every byte is in the
recorded output anyway.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import NoteRecorded
from harnesses.lines import Line, LineSplitter, is_deeper, parse_object

#: Deeper values are recorded as their JSON text, which every reader of the log can take.
DEPTH = 64

#: What reading an object of another shape than expected comes to.
_OTHER_SHAPE = (KeyError, TypeError, ValueError, IndexError, AttributeError)

#: Takes one object; gives what is to be recorded of it, or None where it cannot be understood.
Reader = Callable[[dict[str, Any]], list[EventData] | None]


class LineReader:
    """Reads the stdout of one process.

    `readers` take the objects by their field `type`; None is for a kind that says nothing that is needed. So many
    lines (`KEPT_LINES`) that were not understood become notes, and so much of each (`KEPT_BYTES`).
    """

    KEPT_LINES, KEPT_BYTES = 100, 16 * 1024

    def __init__(self, readers: Mapping[str, Reader | None]) -> None:
        self._lines = LineSplitter()
        self._readers = readers
        self._number = 0
        self.recognised = 0
        self.unrecognised = 0
        self.flags: list[str] = []
        self.unknown_kinds: dict[str, int] = {}

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events of the lines that this chunk completes; stderr is free text and gives none."""
        if stream != "stdout":
            return []
        return [event for line in self._lines.feed(chunk) for event in self._read(line)]

    def last_line(self) -> list[EventData]:
        """The events of what came after the last newline: the output is over."""
        rest = self._lines.rest()
        return self._read(rest) if rest is not None else []

    def flag(self, name: str) -> None:
        """Note an oddity, once."""
        if name not in self.flags:
            self.flags.append(name)

    def shallow(self, value: Any, depth: int = DEPTH) -> Any:
        """`value`, as its JSON text where it is nested deeper than every reader of the log can take."""
        if not is_deeper(value, depth):
            return value
        self.flag("deep_nesting")
        return as_text(value)

    def _read(self, line: Line) -> list[EventData]:
        self._number += 1
        if not line.size or line.content.isspace():
            return []
        if line.too_long:
            self.flag("line_too_long")
        told = parse_object(line)
        events = None if told is None else self._understood(told)
        if events is None:
            return self._keep(line)
        self.recognised += 1
        return events

    def _understood(self, told: dict[str, Any]) -> list[EventData] | None:
        kind = told.get("type")
        if not isinstance(kind, str):
            return None
        if kind not in self._readers:
            self.unknown_kinds[kind[:80]] = self.unknown_kinds.get(kind[:80], 0) + 1
            return None
        reader = self._readers[kind]
        with contextlib.suppress(*_OTHER_SHAPE):
            return reader(told) if reader is not None else []
        return None

    def _keep(self, line: Line) -> list[EventData]:
        self.unrecognised += 1
        self.flag("unknown_lines")
        if self.unrecognised > self.KEPT_LINES:
            return []
        whole = line.size <= self.KEPT_BYTES
        text = line.text if whole else line.content[: self.KEPT_BYTES].decode("utf-8", "ignore")
        details = {"line": self._number, "bytes": line.size, "whole": line.whole and whole}
        return [NoteRecorded(level="info", code="harness_raw", text=text, details=details)]


def as_text(value: Any) -> str:
    """The JSON text of a value."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to be recorded; the line is in the artifact stdout)"
