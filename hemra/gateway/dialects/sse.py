"""Server-sent events out of bytes that come in any pieces."""

from __future__ import annotations

from typing import NamedTuple

#: Bytes of one line beyond which it is left out: nothing that a model says is as long.
LONGEST = 64 * 2**20


class ServerEvent(NamedTuple):
    """One event: its name, empty without one, and its data, lines joined by a line feed."""

    name: str
    data: bytes


class EventParser:
    """The parser of the HTML standard, section "Server-sent events", without ids and retry times.

    Differs in one thing: an event at the end of a body counts also without the empty line behind it.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that end in this chunk."""
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep(chunk)
            return []
        lines = b"".join([*self._rest, chunk]).splitlines(keepends=True)
        self._rest.clear()
        self._size = 0
        if lines and not lines[-1].endswith(b"\n"):
            self._keep(lines.pop())  # also one that ends in CR: the LF of its end may come next
        events = []
        for line in lines:
            event = self._line(line.rstrip(b"\r\n"))
            if event is not None:
                events.append(event)
        return events

    def finish(self) -> list[ServerEvent]:
        """The event that the body ended in, if there is one."""
        events = []
        for line in [*b"".join(self._rest).splitlines(), b""]:
            event = self._line(line)
            if event is not None:
                events.append(event)
        self._rest.clear()
        return events

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= LONGEST:
            self._rest.append(piece)
        else:
            self._rest = [b":"]  # the rest of the line is a comment

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            event = ServerEvent(self._name, b"\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None
