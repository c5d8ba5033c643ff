"""What an agent tells while it works, by `session/update`, as events of ours.

Updates are read as leniently as can be: agents send more than the schema knows, and in another order than it says.
However much they send, what is kept in memory and in the record has a bound, and a line costs the same all the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import MessageRecorded, NoteRecorded
from harnesses.head_and_tail import HeadAndTail
from harnesses.jsonl import JsonlInterpreter, mapping, objects, text_of
from harnesses.protocol import identity

#: What tasks call a tool of which only the protocol's own kind is known.
KINDS = {
    "execute": ("terminal",),
    "read": ("read_file",),
    "edit": ("write_file", "patch"),
    "search": ("search_files",),
    "fetch": ("web_extract",),
}
#: So many updates of unknown kinds become notes, and so many different kinds are told apart; so many notes of any one
#: code are recorded.
KEPT_UPDATES = 100
#: So many calls and messages are recorded. The rest is counted, and in the artifact `stdout`.
KEPT_CALLS = KEPT_MESSAGES = 10_000
#: So many calls wait until something is told of what they are given; then the oldest is recorded as it is.
WAITING_CALLS = 100
_ROLES = {
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}
_NOTHING_NEEDED = (
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
)


@dataclass(slots=True)
class Call:
    """A tool call as far as it is told. `shown` is what its terminal shows; `told`: it has become an event; `over`: so
    has its result."""

    id: str
    title: str = ""
    kind: str = ""
    own_name: str = ""
    arguments: Any = None
    shown: HeadAndTail | None = None
    told: bool = False
    over: bool = False

    def take(self, update: dict[str, Any]) -> None:
        """More of it: later words go before earlier ones. Its first title is its name in some agents."""
        meta = mapping(update.get("_meta"))
        self.title = self.title or text_of(update.get("title"))
        self.kind = text_of(update.get("kind")) or self.kind
        self.arguments = update.get("rawInput") or self.arguments
        # The field is newer than the schema; before it there was one of a single agent.
        self.own_name = (
            text_of(update.get("name"))
            or text_of(mapping(meta.get("claudeCode")).get("toolName"))
            or self.own_name
        )
        if whole := text_of(mapping(meta.get("terminal_output")).get("data")):
            self.shown = HeadAndTail()
            self.shown.add(whole)
        if more := text_of(mapping(meta.get("terminal_output_delta")).get("data")):
            self.shown = self.shown or HeadAndTail()
            self.shown.add(more)

    def names(self, tools: Mapping[str, tuple[str, ...]]) -> tuple[str, tuple[str, ...]]:
        """(its name, what tasks call it). `tools`: what tasks call a tool -> what the agent calls it. Nothing says
        which words of a title are a tool's name: those are taken that the agent is known to use."""
        word = self.own_name or self.title.partition(":")[0].strip()
        found = tuple(tool for tool, natives in tools.items() if word in natives or word == tool)
        known = found or KINDS.get(self.kind, ())
        if not found and not self.own_name:
            word = known[-1] if known else self.kind or "other"
        return word, known or (word,)


class Conversation(JsonlInterpreter):
    """Reads updates. `tools` are the agent's names of tools, by what tasks call them; `words` is what is being said."""

    def __init__(self) -> None:
        super().__init__({})
        self.tools: Mapping[str, tuple[str, ...]] = {}
        self.calls: dict[str, Call] = {}
        self._waiting: dict[str, Call] = {}
        self.words = HeadAndTail()
        self._speaker: tuple[str, str | None] = ("", None)
        self._cut = False
        self._left_out: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._updates: dict[str, Callable[[dict[str, Any]], list[EventData]]] = {
            **dict.fromkeys(_ROLES, self._read_chunk),
            **dict.fromkeys(_NOTHING_NEEDED, lambda update: []),
            "tool_call": self._read_call,
            "tool_call_update": self._read_call,
            "plan": self._read_plan,
        }

    def updated(self, update: dict[str, Any]) -> list[EventData]:
        """One update."""
        kind = text_of(update.get("sessionUpdate"))
        if kind not in self._updates:
            return self.unknown(f"session/update/{kind}", update)
        if self.ended and kind not in _NOTHING_NEEDED:
            self.flag("late_updates")
        return self._updates[kind](update)

    def unknown(self, kind: str, told: Any) -> list[EventData]:
        """Something of a kind that is not known: counted, and a note."""
        kind = kind[:80]
        if kind not in self.unknown_kinds and len(self.unknown_kinds) >= KEPT_UPDATES:
            return []
        self.unknown_kinds[kind] = self.unknown_kinds.get(kind, 0) + 1
        if sum(self.unknown_kinds.values()) > KEPT_UPDATES:
            return []
        return [NoteRecorded(level="info", code="acp_unknown", text=kind, details=self.shallow(told))]

    def noted(self, code: str, text: str, details: dict[str, Any] | None = None) -> list[EventData]:
        """A note, unless there were enough of its code."""
        if not self._has_room(code, KEPT_UPDATES):
            return []
        return [NoteRecorded(level="info", code=code, text=text, details=self.shallow(details))]

    def bounded(self, events: list[EventData]) -> list[EventData]:
        """The events without the messages that are too many. To be asked once of each."""
        return [
            event
            for event in events
            if not isinstance(event, MessageRecorded) or self._has_room("messages", KEPT_MESSAGES)
        ]

    def left_out(self) -> list[EventData]:
        """How many of which were not recorded, in one note; nothing where all were."""
        if not self._left_out:
            return []
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(self._left_out.items()))
        text = f"it told more than is recorded; left out: {counts}. All of it is in the artifact stdout"
        return [NoteRecorded(level="info", code="acp_left_out", text=text, details=dict(self._left_out))]

    def _has_room(self, name: str, most: int) -> bool:
        self._seen[name] += 1
        if self._seen[name] <= most:
            return True
        self._left_out[name] += 1
        return False

    def spoken(self) -> list[EventData]:
        """The message whose pieces have come so far, now that something else follows."""
        words, (role, of) = self.words, self._speaker
        self._speaker = ("", None)
        if not words.size:
            return []
        self.words = HeadAndTail()
        if role == "thought":
            return self.thought(words.text)
        if role == "assistant":
            self._cut = words.cut
            return self.said(words.text, of=of)
        # Thoughts belong to what the agent says; here somebody else does.
        thoughts = self._let_go()
        if (reasoning := self._thought()) is not None:
            thoughts.append(MessageRecorded(role="assistant", text="", reasoning=reasoning))
        return [*thoughts, *self.heard(role, words.text)]

    def paused(self) -> list[EventData]:
        """The same where a question of the agent comes in between: a message with an id, and thoughts, may go on."""
        role, of = self._speaker
        if role == "thought":
            self._speaker = (role, "")
            return []
        return [] if of is not None else self.spoken()

    def asked_about(self, update: dict[str, Any]) -> tuple[Call, list[EventData]]:
        """The tool call that the agent asks a question about, and its event where it was told of before. Some agents
        ask about a call by an id that only the question has."""
        known = self.calls.get(identity(update.get("toolCallId")) or "")
        call = known or Call(identity(update.get("toolCallId")) or "")
        call.take(update)
        return call, self._tell(call) if known is not None and not known.told else []

    def settled(self) -> list[EventData]:
        """What has not become an event yet: the output is over."""
        return [*self._tell_waiting(), *self.spoken()]

    def _read_chunk(self, update: dict[str, Any]) -> list[EventData]:
        content = mapping(update.get("content"))
        kind, text = text_of(content.get("type")), text_of(content.get("text"))
        if kind != "text":
            return self.unknown(f"content/{kind}", update)
        role = _ROLES[text_of(update.get("sessionUpdate"))]
        speaker = (role, identity(update.get("messageId")))
        events = self._tell_waiting()
        if not text:
            return events
        if speaker != self._speaker:
            if role == self._speaker[0] == "thought":
                self.words.add("\n")
            else:
                events += self.spoken()
        self._speaker = speaker
        self.words.add(text)
        return events

    def _read_call(self, update: dict[str, Any]) -> list[EventData]:
        known = identity(update.get("toolCallId"))
        if known is None:
            return self.unknown("tool call without an id", update)
        call = self._call(known)
        if call is None or call.over:
            return []
        call.take(update)
        status = text_of(update.get("status"))
        events: list[EventData] = []
        if len(self._waiting) > WAITING_CALLS:
            events += self._tell(next(iter(self._waiting.values())))
        # Until it runs, what it is given may be told piece by piece.
        if not call.told and (status not in ("", "pending") or (call.arguments and status == "")):
            events += self._tell(call)
        if status in ("completed", "failed"):
            code = _exit_code(update)
            ok = status == "completed" and code in (None, 0)
            shown = "" if call.shown is None else call.shown.text
            events += self.returned(call.id, ok, _result(update, shown, code))
            call.over, call.shown, call.arguments = True, None, None
        return events

    def _call(self, known: str) -> Call | None:
        """The call of an id, a new one where there is room for it."""
        call = self.calls.get(known)
        if call is None and len(self.calls) < KEPT_CALLS:
            call = self.calls[known] = self._waiting[known] = Call(known)
        elif call is None:
            self._left_out["call_updates"] += 1
        return call

    def _tell_waiting(self) -> list[EventData]:
        """The calls that have not become events, now that something else follows."""
        return [event for call in list(self._waiting.values()) for event in self._tell(call)]

    def _tell(self, call: Call) -> list[EventData]:
        call.told = True
        self._waiting.pop(call.id, None)
        name, _ = call.names(self.tools)
        arguments = call.arguments if call.arguments is not None else {"title": call.title}
        return [*self.spoken(), *self.called(call.id, name, arguments)]

    def _read_plan(self, update: dict[str, Any]) -> list[EventData]:
        entries = self.shallow(update.get("entries"))
        return self.noted("plan", "the agent's plan", {"entries": entries})


def _exit_code(update: dict[str, Any]) -> int | None:
    """The exit code of a command, where an agent tells it in one of the ways that are known."""
    raw = mapping(update.get("rawOutput"))
    ended = mapping(mapping(update.get("_meta")).get("terminal_exit"))
    for code in (ended.get("exit_code"), raw.get("exit_code"), mapping(raw.get("metadata")).get("exit")):
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return None


def _result(update: dict[str, Any], shown: str, code: int | None) -> Any:
    said = "".join(
        text_of(mapping(each.get("content")).get("text")) for each in objects(update.get("content"))
    )
    output = update.get("rawOutput") or shown or said or None
    return output if code is None else {"output": output, "exit_code": code}
