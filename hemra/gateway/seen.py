"""What a request and an answer brought that was not there before."""

from __future__ import annotations

from typing import Any

import msgspec

from hemra.gateway.normal import Message, ToolCall


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A call for the record: `call.id` is unique in the trial, whatever id the provider gave or left out."""

    call: ToolCall
    turn: int | None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave back: `call` is the id in the record, `key` the key of the message that brought it."""

    call: str
    name: str
    ok: bool | None
    result: Any
    key: str


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a request brought.

    - `context`: digest of the whole conversation, `prefix` of its first `known` messages, which were recorded before;
      `messages`: how many it has; `added`: the rest, by key
    - `fresh`: those of `added` to be recorded now, as they are to be recorded: a message once for every time that it
      stands in a conversation; results are in `results`, an answer that comes back is recorded already
    - `calls`: of an answer that was cut and whose calls the harness made all the same; they stand before `results`
    - `auxiliary`: why this is no turn, or null; `retry_of`: the failed call that it repeats
    - `tools`: digest of the tools offered, null without any; `tools_new`: not seen in this trial before
    """

    context: str
    prefix: str
    messages: int
    known: int
    added: tuple[str, ...]
    fresh: tuple[tuple[str, Message], ...]
    calls: tuple[Called, ...]
    results: tuple[ToolResult, ...]
    auxiliary: str | None
    retry_of: str | None
    tools: str | None
    tools_new: bool


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer brought.

    - `key`: of the assistant's message, null where nothing was said; `message`: to be recorded, null where it has
      neither text nor reasoning, or was recorded before
    - `calls`: to be recorded as called; `ids`: of all calls of the answer that are in the record
    - `turn`: number of the turn, from 1; null for an answer that is cut, empty or auxiliary, or was given before
    """

    key: str | None = None
    message: tuple[str, Message] | None = None
    calls: tuple[Called, ...] = ()
    ids: tuple[str, ...] = ()
    turn: int | None = None
