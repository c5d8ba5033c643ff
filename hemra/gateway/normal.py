"""What passes through the gateway, in one form for all dialects.

A dialect reads a request's body into a `Request` and an answer's bytes into an `Answer`. Neither changes what is
forwarded: the bytes go on as they came, and these are read beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from eventlog.schemas.trials import Usage


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model calls. `arguments` is the value of its JSON, or the text as it is where it is none (a
    freeform tool, a model's mistake); `written` that text where it is not the JSON of an object."""

    id: str
    name: str
    arguments: Any
    written: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation, for one role: system, user, assistant or tool.

    `text` is a string where the message is nothing but text, else its parts as they came. A result of a tool has
    `answers`, the id of the call, and `ok` where the dialect says whether it worked.
    """

    role: str
    text: Any
    reasoning: Any = None
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None
    ok: bool | None = None

    @property
    def key(self) -> str:
        """`sha256:<hex>` over what the message says, the same when a harness renders it again in its own way:
        white space at the end and the spelling of a call's JSON do not count, nor does reasoning."""
        text = self.text.rstrip() if isinstance(self.text, str) else self.text
        calls = [[call.id, call.name, call.arguments] for call in self.calls]
        # Plain ASCII: lone surrogates and numbers of any size are taken.
        content = json.dumps([self.role, text or None, calls, self.answers], sort_keys=True)
        return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a request offers: its name, and its definition as it came."""

    name: str
    definition: Any


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model. `parameters` is the body without model, messages and tools."""

    model: str | None
    stream: bool
    parameters: dict[str, Any]
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]


class Answer(msgspec.Struct, kw_only=True):
    """A model's answer, as far as it came.

    `complete`: it ended with a finish reason. `junk`: nothing of it was in the dialect. `error` is what the provider
    told instead of an answer or amid it. `raw_usage` is the provider's own object.
    """

    id: str | None = None
    model: str | None = None
    text: str = ""
    reasoning: Any = None
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    raw_usage: Any = None
    token_ids: Any = None
    prompt_token_ids: Any = None
    logprobs: Any = None
    complete: bool = False
    junk: bool = False
    error: Any = None


class AnswerReader(Protocol):
    """Reads one answer from its decoded bytes, in whatever pieces they come."""

    @property
    def tokens(self) -> int:
        """How many pieces of text, reasoning or arguments were seen: the first tells the time of the first token."""

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the body. Never raises, whatever they are."""

    def finish(self) -> Answer:
        """The body is over, in order or not."""


class SamplingWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a task asks of the model's decoding; null = nothing."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None


class Dialect(Protocol):
    """One way of talking to a model over HTTP."""

    name: str

    def owns(self, path: str) -> bool:
        """Whether a POST to this path (without the trial's prefix, without a query) asks a model for an answer."""

    def read(self, body: dict[str, Any]) -> Request:
        """The request of a body. Never raises: what it does not know it leaves out or keeps as it came."""

    def reader(self, *, stream: bool) -> AnswerReader:
        """A reader for an answer: of server-sent events, or of one JSON document."""

    def put_sampling(self, body: dict[str, Any], wish: SamplingWish) -> tuple[dict[str, Any], list[str]]:
        """Put the wish into `body`, in place. Returns what was sent, by the names of the wish, and the names that
        this dialect has no field for."""

    def take_tools_out(self, body: dict[str, Any], unwanted: Callable[[str], bool]) -> list[str]:
        """Take tools out of `body`, in place, and whatever names them (a forced choice). Returns their names."""

    def error(self, status: int, code: str, message: str) -> bytes:
        """The body of an error in the form that this dialect's clients show to their users."""
