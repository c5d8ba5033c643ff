"""What a request asks and what it is answered, in words that no dialect owns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class BadRequest(ValueError):
    """The request is not one of its dialect; the text says what is wrong with it."""


@dataclass(frozen=True)
class Offered:
    """A tool that the request offers. `kind` is `function` (JSON arguments) or `custom` (free text)."""

    name: str
    kind: str = "function"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    namespace: str | None = None


@dataclass(frozen=True)
class Call:
    """A tool call as the model writes it: `arguments` is the text on the wire, JSON or free."""

    name: str
    arguments: str
    kind: str = "function"
    namespace: str | None = None


@dataclass(frozen=True)
class Made:
    """A call that stands in the history of a request, with its result; None when there is none yet."""

    id: str
    name: str
    arguments: str
    result: str | None = None


@dataclass(frozen=True)
class Message:
    """One turn of the history. Neighbouring items of the same assistant turn are one message."""

    role: str
    text: str = ""
    calls: tuple[Made, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A request. `schema` is the JSON schema that the answer's text has to follow, where one is named."""

    dialect: str
    model: str
    stream: bool
    messages: tuple[Message, ...]
    tools: tuple[Offered, ...] = ()
    include_usage: bool = True
    logprobs: bool = False
    encrypted_reasoning: bool = False
    schema: Mapping[str, Any] | None = None

    @property
    def turn(self) -> int:
        """How many turns the assistant has had: the number, from 0, of the turn that is asked for."""
        return sum(message.role == "assistant" for message in self.messages)

    @property
    def user_text(self) -> str:
        """All that the user said, a blank line between messages."""
        return "\n\n".join(m.text for m in self.messages if m.role == "user" and m.text)

    @property
    def first_user_text(self) -> str:
        """The first message of the user; empty without one."""
        return next((m.text for m in self.messages if m.role == "user" and m.text), "")

    @property
    def calls(self) -> tuple[Made, ...]:
        """Every call in the history, in the order in which they were written."""
        return tuple(call for message in self.messages for call in message.calls)


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer. `input` includes what was read from and written to a cache, `output` the reasoning."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def normal(self) -> dict[str, int]:
        """The one normal form, under the names that the harness protocol uses."""
        return {
            "input_tokens": self.input,
            "cache_read_tokens": self.cache_read,
            "cache_write_tokens": self.cache_write,
            "output_tokens": self.output,
            "reasoning_tokens": self.reasoning,
        }


@dataclass(frozen=True)
class Answer:
    """What is said. `finish` is `stop`, `tool_calls` or `length`; `usage` None tells the client none."""

    id: str
    model: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    usage: Usage | None = None
    token_ids: bool = False
    prompt_token_ids: tuple[int, ...] = ()
    logprobs: bool = False


@dataclass(frozen=True)
class Piece:
    """Bytes that go out together, and how many tokens of the answer they carry."""

    content: bytes
    tokens: int = 0


def compact(value: Any) -> str:
    """JSON as it stands in a body: no blanks, text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def wire(value: Any) -> bytes:
    """The same as UTF-8; a lone surrogate, which has no UTF-8, becomes a question mark."""
    return compact(value).encode("utf-8", "replace")


def event(kind: str, body: Mapping[str, Any], carried: int = 0) -> Piece:
    """A server-sent event with a name."""
    return Piece(b"event: " + kind.encode() + b"\ndata: " + wire(body) + b"\n\n", carried)


def joined_text(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list. Other parts have none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part if isinstance(part, str) else part.get("text") for part in content if part]
    return "\n".join(part for part in parts if isinstance(part, str))


class History:
    """Collects messages: joins the items of one assistant turn, and results with their calls by id."""

    def __init__(self) -> None:
        self._roles: list[tuple[str, list[str], list[tuple[str, str, str]]]] = []
        self._results: dict[str, str] = {}
        self._after_result = False

    def say(self, role: str, text: str) -> None:
        """A message, or a further part of the assistant's turn."""
        self._turn(role)[1].append(text)

    def call(self, call: str, name: str, arguments: str) -> None:
        """A call that the assistant wrote."""
        self._turn("assistant")[2].append((call, name, arguments))

    def result(self, call: str, text: str) -> None:
        """What came back for a call. It ends the assistant's turn."""
        self._results.setdefault(call, text)
        self._after_result = True

    def _turn(self, role: str) -> tuple[str, list[str], list[tuple[str, str, str]]]:
        follows = bool(self._roles) and not self._after_result and self._roles[-1][0] == role == "assistant"
        self._after_result = False
        if not follows:
            self._roles.append((role, [], []))
        return self._roles[-1]

    def messages(self) -> tuple[Message, ...]:
        """What was collected."""
        return tuple(
            Message(
                role,
                "\n".join(text for text in texts if text),
                tuple(Made(call, name, given, self._results.get(call)) for call, name, given in calls),
            )
            for role, texts, calls in self._roles
        )
