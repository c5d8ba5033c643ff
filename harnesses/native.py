"""Reads the events that an agent prints, one JSON object a line, and what they add up to.

An adapter says what each kind of event means to it. Reading goes on whatever comes: a kind that it does not know is
counted and its line kept, and every byte is in the recorded output anyway.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from eventlog.schemas.trials import Usage
from harnesses.base import Conclusion
from harnesses.failures import outcome_of_failure, reason_of
from harnesses.lines import Line, LineSplitter, parse_object

#: So many lines that were not understood are kept as notes, and so much of each.
KEPT_LINES, KEPT_BYTES = 100, 16 * 1024

#: What reading an event of another shape than the adapter expects comes to.
_OTHER_SHAPE = (KeyError, TypeError, ValueError, IndexError, AttributeError)

#: Takes one event. What it gives is recorded; most adapters give nothing: the gateway records the conversation.
Reader = Callable[[dict[str, Any]], list[EventData] | None]


class NativeInterpreter:
    """One process of an agent that prints JSON lines on stdout.

    An adapter sets `readers` (kind of event -> what reads it; None for a kind that says nothing that is needed) and,
    while reading, `final` (the answer), `usage`, `failure` (why it could not go on, in its own words, with
    `failure_status`, the HTTP status where it tells one), `outcome` with `reason` (where it says more than success or
    failure: `turn_limit`), and `ended` once the agent has said that it is done.
    """

    def __init__(
        self, readers: dict[str, Reader | None], *, kind: Callable[[dict[str, Any]], Any] | None = None
    ):
        """`kind` takes the kind out of an event; without it, it is the field `type`."""
        self._lines = LineSplitter()
        self._readers = readers
        self._kind = kind or (lambda told: told.get("type"))
        self._number = 0
        self.recognised = 0
        self.unrecognised = 0
        self.flags: list[str] = []
        self.unknown_kinds: dict[str, int] = {}
        self.final: str | None = None
        self.usage: Usage | None = None
        self.failure: str | None = None
        self.failure_status: int | None = None
        self.outcome: str | None = None
        self.reason: str | None = None
        self.ended = False

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events of the lines that this chunk completes; stderr is free text."""
        if stream != "stdout":
            return []
        return [event for line in self._lines.feed(chunk) for event in self._read(line)]

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The last line, newline or not, the answer, and what to make of the whole."""
        rest = self._lines.rest()
        events = self._read(rest) if rest is not None else []
        outcome, reason = self._judge(exit_code, exit_signal)
        if exit_code:
            self.flag("nonzero_exit")
        if self.final:
            events.append(MessageRecorded(role="assistant", text=self.final, final=True))
        elif self.recognised:
            self.flag("no_output")
        if self.unknown_kinds:
            text = "events of kinds that this adapter does not know: " + ", ".join(sorted(self.unknown_kinds))
            events.append(
                NoteRecorded(level="info", code="unknown_events", text=text, details=dict(self.unknown_kinds))
            )
        return events, Conclusion(
            outcome=outcome, reason=reason, final_text=self.final or None, usage=self.usage,
            recognised=self.recognised, unrecognised=self.unrecognised, flags=self.flags,
        )  # fmt: skip

    def flag(self, name: str) -> None:
        """Note an oddity, once."""
        if name not in self.flags:
            self.flags.append(name)

    def _judge(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        """Outcome and reason: from its own events first, from how the process ended where they say nothing."""
        if self.outcome is not None:
            return self.outcome, self.reason
        if self.failure is not None:
            return outcome_of_failure(self.failure, self.failure_status), reason_of(self.failure)
        if self.ended:
            return None, None
        if not self.recognised:
            return self._nothing_understood(exit_code, exit_signal)
        self.flag("incomplete_stream")
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} before it said that it was done"
        if exit_code is not None:
            return "harness_error", f"it exited with {exit_code} and had not said that it was done"
        return None, None

    def _nothing_understood(
        self, exit_code: int | None, exit_signal: int | None
    ) -> tuple[str | None, str | None]:
        if self.unrecognised:
            self.flag("adapter_mismatch")
        else:
            self.flag("no_output")
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} before any event"
        if exit_code:
            return "harness_error", f"it exited with {exit_code} before any event"
        if self.unrecognised:
            return "unknown", f"none of its {self.unrecognised} lines is an event that this adapter knows"
        return ("unknown", "it printed nothing") if exit_code is not None else (None, None)

    def _read(self, line: Line) -> list[EventData]:
        self._number += 1
        if not line.content.strip():
            return []
        if line.too_long:
            self.flag("line_too_long")
        told = parse_object(line)
        kind = self._kind(told) if told is not None else None
        if told is not None and isinstance(kind, str):
            if kind in self._readers:
                reader = self._readers[kind]
                with contextlib.suppress(*_OTHER_SHAPE):
                    events = reader(told) if reader is not None else None
                    self.recognised += 1
                    return events or []
            else:
                self.unknown_kinds[kind[:80]] = self.unknown_kinds.get(kind[:80], 0) + 1
        return self._keep(line)

    def _keep(self, line: Line) -> list[EventData]:
        self.unrecognised += 1
        self.flag("unknown_lines")
        if self.unrecognised > KEPT_LINES:
            return []
        text = line.text if line.size <= KEPT_BYTES else line.content[:KEPT_BYTES].decode("utf-8", "ignore")
        details = {"line": self._number, "bytes": line.size, "whole": line.whole and line.size <= KEPT_BYTES}
        return [NoteRecorded(level="info", code="harness_raw", text=text, details=details)]
