"""Agents that print what they do as JSON lines: their conversation, their usage, and whether they came to their end.

What all of them print in their own words becomes the same events here. Where the model gateway sees the calls, its
record of messages and tools goes before this one; the end, the answer and the usage are taken from here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelResponded,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from eventlog.schemas.trials import Usage
from harnesses.base import Conclusion
from harnesses.failures import outcome_of_failure, reason_of
from harnesses.line_reader import LineReader, Reader
from harnesses.usage import UsageSum, read_usage

#: So much of the end of stderr may explain why an agent gave up.
COMPLAINT_BYTES = 4096


def mapping(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one: programs change what they print."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """`value` where it is text, else nothing."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """A number of tokens; None for what is none."""
    usable = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if usable else None


def total(told: dict[str, Any], main: str, *parts: str) -> int | None:
    """The number under `main` with those that are told apart from it; unknown where `main` is, for what is left
    would pass for the whole."""
    whole = number(told.get(main))
    return None if whole is None else whole + sum(number(told.get(part)) or 0 for part in parts)


class JsonlInterpreter(LineReader):
    """One process of an agent that tells its whole conversation.

    Readers of an adapter call `said`, `thought`, `called`, `returned`, `used` and `retried` and give back what these
    give. While reading they set:

    - `final`: the answer; `turn`: assistant turns so far, 0 where it does not tell them
    - `ended`: it has said that it is done, and only tidies up; `complete`: it came to its end, but prints no word after
      which it exits
    - `failure`: why it could not go on, in its own words, with `failure_status`, the HTTP status where it tells one
    - `complaint`: the last error that it told and that need not be the end; the reason when nothing better follows
    - `outcome` with `reason`: where it says more than success or failure, as `turn_limit`
    """

    def __init__(self, readers: Mapping[str, Reader | None]) -> None:
        super().__init__(readers)
        self.final: str | None = None
        self.turn = 0
        self.ended = False
        self.complete = False
        self.failure: str | None = None
        self.failure_status: int | None = None
        self.complaint: str | None = None
        self.outcome: str | None = None
        self.reason: str | None = None
        self.usage: Usage | None = None
        self._at_models = False
        self._retries = 0
        self._sum = UsageSum()
        self._names: dict[str, str] = {}
        self._thoughts: list[str] = []
        self._held: MessageRecorded | None = None
        self._held_of: str | None = None
        self._stderr = bytearray()

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """The events of the lines that this chunk completes; of stderr the end is kept, to explain a failure."""
        if stream == "stderr":
            self._stderr = (self._stderr + chunk)[-COMPLAINT_BYTES:]
        return super().feed(stream, chunk)

    # -- what adapters tell --------------------------------------------------------------------

    def said(self, text: str, *, of: str | None = None) -> list[EventData]:
        """The assistant says something; pieces of the same answer (`of`, its id) are one message.

        A message is held until something follows it: the last one is the answer, and recorded as that only.
        """
        if not text:
            return []
        if self._held is not None and of is not None and of == self._held_of and not self._thoughts:
            text = f"{self._held.text}{text}"
            self._held = msgspec.structs.replace(self._held, text=text)
            self.final = text
            return []
        events = self._let_go()
        self._held, self._held_of = (
            MessageRecorded(role="assistant", text=text, reasoning=self._thought()),
            of,
        )
        self.final = text
        return events

    def thought(self, text: str) -> list[EventData]:
        """The assistant reasons; it belongs to the message that follows."""
        if text:
            self._thoughts.append(text)
        return []

    def heard(self, role: str, text: Any) -> list[EventData]:
        """A message of somebody else."""
        return [*self._let_go(), MessageRecorded(role=role, text=self.shallow(text))] if text else []

    def called(self, call: str | None, name: str, arguments: Any, *, aside: bool = False) -> list[EventData]:
        """A tool is called; what was said before is not the answer. `aside`: by a helper, not by the agent itself."""
        if call is None or not name:
            return []
        events: list[EventData] = []
        if not aside:
            events = self._let_go()
            if self._thoughts:
                events.append(MessageRecorded(role="assistant", text="", reasoning=self._thought()))
            self.final = None
        self._names[call] = name
        turn = self.turn if self.turn and not aside else None
        return [*events, ToolCalled(call=call, name=name, arguments=self.shallow(arguments), turn=turn)]

    def returned(self, call: str | None, ok: bool | None, result: Any) -> list[EventData]:
        """A tool gave something back. One that was not called before has no name."""
        if call is None:
            return []
        return [ToolReturned(call=call, name=self._names.pop(call, None), ok=ok, result=self.shallow(result))]

    def was_called(self, call: str | None) -> bool:
        """Whether a call is under way."""
        return call in self._names

    def used(self, told: dict[str, Any], *, model: Any = None, raw: Any = None) -> list[EventData]:
        """Tokens of one model call in the normal form; nothing where nothing usable was told."""
        usage, sound = read_usage(told)
        if not sound:
            self.flag("bad_usage")
        if usage is None:
            return []
        self._sum.add(usage)
        self.usage = self._sum.total
        return [
            ModelResponded(
                model=model if isinstance(model, str) else None, usage=usage, raw=self.shallow(raw)
            )
        ]

    def used_in_all(self, told: dict[str, Any]) -> None:
        """The sum over the whole run, in place of what was told before."""
        self._sum = UsageSum()
        usage, sound = read_usage(told)
        if not sound:
            self.flag("bad_usage")
        if usage is not None:
            self._sum.add(usage)
        self.usage = self._sum.total

    def retried(self, text: str) -> list[EventData]:
        """A model call failed and is made again."""
        self._retries += 1
        self.flag("model_retried")
        details = {"number": self._retries}
        return [NoteRecorded(level="warning", code="model_retried", text=reason_of(text), details=details)]

    def ended_by_model(self, flag: str) -> None:
        """It ended over what its model did: that is its model's work, and scored, whatever its exit code."""
        self.complete, self.failure, self._at_models = True, None, True
        self.flag(flag)

    def warned(self, code: str, text: str) -> list[EventData]:
        """Something that a reader of the trial should know."""
        return [NoteRecorded(level="warning", code=code, text=text)]

    # -- what it adds up to --------------------------------------------------------------------

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The last line, newline or not, the answer, and what to make of the whole."""
        events = self.last_line()
        outcome, reason = self._judge(exit_code, exit_signal)
        if exit_code:
            self.flag("nonzero_exit")
        events += self._answer()
        if self.unknown_kinds:
            text = "events of kinds that this adapter does not know: " + ", ".join(sorted(self.unknown_kinds))
            details = dict(self.unknown_kinds)
            events.append(NoteRecorded(level="info", code="unknown_events", text=text, details=details))
        events += self._contradiction(exit_code)
        if "incomplete_stream" in self.flags and self.usage is not None:
            self.flag("usage_partial")
        for name in self._sum.flags():
            self.flag(name)
        return events, Conclusion(
            outcome=outcome, reason=reason, final_text=self.final or None, usage=self.usage,
            recognised=self.recognised, unrecognised=self.unrecognised, flags=self.flags,
        )  # fmt: skip

    def _answer(self) -> list[EventData]:
        """The message that was held, as the answer with its reasoning where it is the answer, and the answer."""
        events = self._let_go()
        if not self.final:
            if self.recognised:
                self.flag("no_output")
            return events
        held = events[0] if events else None
        if isinstance(held, MessageRecorded) and held.text.strip() == self.final.strip():
            return [msgspec.structs.replace(held, final=True)]
        return [*events, MessageRecorded(role="assistant", text=self.final, final=True)]

    def _contradiction(self, exit_code: int | None) -> list[EventData]:
        """A warning where what it told and its exit code disagree: the first counts."""
        if self.failure is not None and exit_code == 0:
            text = "it exited with 0 although it had told that it could not go on"
        elif self._came_to_its_end() and exit_code and not self._at_models:
            text = f"it exited with {exit_code} although it had told that it was done"
        else:
            return []
        self.flag("exit_contradicts")
        return self.warned("exit_contradicts", text)

    def _came_to_its_end(self) -> bool:
        return self.failure is None and self.outcome is None and (self.ended or self.complete)

    def _judge(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        """Outcome and reason: from its own events first, from how the process ended where they say nothing."""
        if self._came_to_its_end():
            return None, None
        if self.outcome is None and self.failure is None and (exit_code or exit_signal is not None):
            self.failure = self.complaint
        if self.failure is not None:
            self.final = None  # what it said before it gave up is no answer
        if self.outcome is not None:
            return self.outcome, self.reason
        if self.failure is not None:
            return outcome_of_failure(self.failure, self.failure_status), reason_of(self.failure)
        outcome, reason = self._unexplained(exit_code, exit_signal)
        if outcome == "harness_error" and (last := self._last_words()):
            reason = reason_of(f"{reason}: {last}")
        return outcome, reason

    def _unexplained(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        """What to make of how the process ended, where its events do not say how it went."""
        if self.recognised:
            self.flag("incomplete_stream")
            before = "before it said that it was done"
        else:
            self.flag("adapter_mismatch" if self.unrecognised else "no_output")
            before = "before any event"
        if exit_signal is not None:
            return "harness_error", f"it was ended by signal {exit_signal} {before}"
        if exit_code:
            return "harness_error", f"it exited with {exit_code} {before}"
        if self.recognised:
            # It ended by itself: whatever is missing of its words, its work is there to be scored.
            return None, None
        if self.unrecognised:
            return "unknown", f"none of its {self.unrecognised} lines is an event that this adapter knows"
        return ("unknown", "it printed nothing") if exit_code is not None else (None, None)

    def _last_words(self) -> str:
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def _let_go(self) -> list[EventData]:
        """The message that was held, now that something follows it."""
        held, self._held, self._held_of = self._held, None, None
        return [] if held is None else [held]

    def _thought(self) -> str | None:
        thoughts, self._thoughts = self._thoughts, []
        return "\n".join(thoughts) or None
