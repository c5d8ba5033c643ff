"""Writes down what an exchange brought. What fails here is flagged and noted, and is no matter to the harness."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelRequested,
    ModelResponded,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from hemra.gateway.normal import Answer, Message
from hemra.gateway.seen import Called, Seen, Told

if TYPE_CHECKING:
    from hemra.gateway.channel import Channel
    from hemra.gateway.exchange import Exchange

FAILED, UNREADABLE, FULL, UNREAD = "recording_failed", "answer_not_read", "record_full", "conversation_unread"
MISMATCH = "dialect_mismatch"
#: Bytes of a trial that are recorded: of messages, arguments and results, and of bodies for cassettes. A conversation
#: is far from it; a harness that wants to fill the disk is not.
MOST_SAID, MOST_BODIES = 256 << 20, 1 << 30
#: A request with a body larger than this is not read as a conversation: no model takes as much.
MOST_READ = 64 << 20
#: Bytes that a message takes in the record, whatever it says, and the key of one that is named.
_EACH, _KEY = 200, 80
#: Fields of `model.responded` that are as long as an endpoint likes.
_LARGE = ("raw", "error", "token_ids", "prompt_token_ids", "logprobs")


class Recording:
    """The record of one channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._told: set[str] = set()
        self._said_room, self._body_room = MOST_SAID, MOST_BODIES
        self._pending: asyncio.Task[None] | None = None  # the last answer that waits for its body to be kept

    def see(self, exchange: Exchange) -> None:
        """Find out what a request brings; `exchange.seen` is what was found."""
        asked = exchange.asked
        if asked.request is None:
            return
        if not self.readable(exchange):
            self._channel.flag(UNREAD)
            return
        conversation = self._channel.conversation
        exchange.seen = self._kept(
            lambda: conversation.request(exchange.call, asked.request, auxiliary=asked.aside)  # type: ignore[arg-type]
        )

    def readable(self, exchange: Exchange) -> bool:
        """Whether a request is short enough to be looked into: others wait meanwhile."""
        asked = exchange.asked
        short = asked.request is not None and self._channel.conversation.readable(asked.request)
        return short and len(asked.plain) <= MOST_READ

    def requested(self, exchange: Exchange, body: str | None, *, refused: bool = False) -> None:
        """Write down a request and what it brought. `body`: the digest of the kept body. `refused`: only that it was
        made is written down."""
        exchange.requested = True
        request, seen = exchange.asked.request, exchange.seen
        parts = [seen.tools_new and [tool.definition for tool in request.tools]] if request and seen else []
        named = _KEY * len(seen.added) if seen else 0
        bare = refused or not self._room(request.parameters if request else None, *parts, more=named)
        self._kept(
            lambda: self._channel.spec.emit(_requested(exchange, None if refused else body, bare=bare))
        )
        seen = exchange.seen
        if seen is None or not self._channel.spec.tells_tools:
            return
        self._kept(lambda: self._tell_seen(exchange.call, seen))

    def _tell_seen(self, call: str, seen: Seen) -> None:
        emit = self._channel.spec.emit
        for called in seen.calls:
            self._tell_call(called)
        for result in seen.results:
            content = result.result if self._room(result.result) else None
            emit(ToolReturned(call=result.call, name=result.name, ok=result.ok, result=content))
        for key, message in seen.fresh:
            if self._room(message.text, message.reasoning):
                emit(_message(key, message, call))

    def _room(self, *parts: Any, more: int = 0) -> bool:
        """Whether there is room for these in the record, and then they take it. Once it is full nothing has any."""
        size = more + _EACH + sum(len(p) if isinstance(p, str) else len(json.dumps(p)) for p in parts if p)
        self._said_room = self._said_room - size if size <= self._said_room else 0
        if not self._said_room:
            self._channel.flag(FULL)
        return self._said_room > 0

    def compare(self, exchange: Exchange, said: str | None) -> None:
        """Remark once that a harness speaks another dialect than `said`, the one that its file says."""
        spoken = exchange.asked.dialect
        if spoken is not None and said is not None and spoken.name != said:
            text = (
                f"the harness speaks {spoken.name} and its file says `dialect: {said}`; its calls are passed on as "
                "they are: set `dialect` under `upstream` right, or have the harness speak it"
            )
            self._note(MISMATCH, text, level="warning")

    def hear(self, exchange: Exchange) -> Told:
        """Find out what an answer brought."""
        if exchange.seen is None:
            return Told()
        answer = exchange.answer or Answer()
        conversation = self._channel.conversation
        return self._kept(lambda: conversation.answer(exchange.call, answer)) or Told()

    def responded(self, exchange: Exchange, told: Told, priced: float | None) -> None:
        """Write down an answer and what it brought; its body is kept first where bodies are kept."""
        event = _responded(exchange, told)
        prices = self._channel.spec.prices
        if priced is not None and prices is not None:
            event |= {"priced_usd": priced, "prices": prices.label}
        if exchange.reading_failed is not None:
            self._note(UNREADABLE, exchange.reading_failed)
        keeps = (
            self._channel.spec.blob is not None and exchange.kept is not None and exchange.status is not None
        )
        kept_none = self._channel.spec.blob is not None and exchange.kept is None
        if kept_none and exchange.status is not None and exchange.reading_failed is None:
            self._channel.flag(FULL)
        before = self._pending
        if not keeps and (before is None or before.done()):
            self._answered(exchange, told, event)
            return

        async def tell_later() -> None:
            if keeps:
                body, exchange.kept = b"".join(exchange.kept or ()), None
                event["body"] = await self.keep(body)
                event["headers"] = exchange.headers
            if before is not None:
                await asyncio.wait({before})
            self._answered(exchange, told, event)

        self._pending = asyncio.get_running_loop().create_task(tell_later())
        self._channel.track(self._pending)

    @property
    def behind(self) -> bool:
        """Whether answers that came are not written down yet: what is asked next has to stand behind them."""
        return self._pending is not None and not self._pending.done()

    async def catch_up(self) -> None:
        """Return when they are."""
        if self._pending is not None:
            await asyncio.wait({self._pending})

    async def keep(self, body: bytes) -> str | None:
        """Keep a body as a blob; its digest, or null where bodies are not kept."""
        blob = self._channel.spec.blob
        if blob is None:
            return None
        self._body_room = self._body_room - len(body) if len(body) <= self._body_room else 0
        if not self._body_room:
            self._channel.flag(FULL)
            return None
        try:
            return await asyncio.to_thread(blob, body)
        except Exception as error:  # noqa: BLE001 - a body that cannot be kept must not end a trial
            self._note(FAILED, f"a body could not be kept: {error}")
            return None

    def _answered(self, exchange: Exchange, told: Told, event: dict[str, Any]) -> None:
        def tell() -> None:
            emit = self._channel.spec.emit
            if not self._room(*(event[name] for name in _LARGE)):
                event.update(dict.fromkeys(_LARGE))
            emit(ModelResponded(**event))
            if not self._channel.spec.tells_tools:
                return
            if told.message is not None and self._room(told.message[1].text, told.message[1].reasoning):
                emit(_message(*told.message, exchange.call))
            for called in told.calls:
                self._tell_call(called)

        self._kept(tell)
        exchange.holding.written()

    def _tell_call(self, called: Called) -> None:
        call = called.call
        whole = self._room(call.arguments, call.written)
        self._channel.spec.emit(
            ToolCalled(
                call=call.id, name=call.name, arguments=call.arguments if whole else None, turn=called.turn,
                written=call.written if whole else None,
            )
        )  # fmt: skip

    def _kept(self, work: Callable[[], Any]) -> Any:
        """The result of a piece of recording; null, with a flag and a note, where it failed."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - a fault in the record must not reach the harness
            self._note(FAILED, f"{type(error).__name__}: {error}")
            return None

    def _note(self, code: str, text: str, level: str = "error") -> None:
        """Flag what could not be recorded, or is odd, and say it once."""
        self._channel.flag(code)
        if text in self._told:
            return
        self._told.add(text)
        try:
            self._channel.spec.emit(NoteRecorded(level=level, code=f"gateway_{code}", text=text))
        except Exception as error:  # noqa: BLE001 - the log takes nothing more; the flag is left
            self._told.add(str(error))


def _message(key: str, message: Message, call: str) -> MessageRecorded:
    return MessageRecorded(
        role=message.role, text=message.text, reasoning=message.reasoning, key=key, call=call
    )


def _requested(exchange: Exchange, body: str | None, *, bare: bool) -> ModelRequested:
    """`bare`: without what may be as long as a harness likes."""
    asked, seen = exchange.asked, exchange.seen
    request = asked.request
    offered = None
    if request is not None and seen is not None and seen.tools_new and not bare:
        offered = [tool.definition for tool in request.tools]
    return ModelRequested(
        model=request.model if request else None,
        parameters=request.parameters if request and not bare else {},
        call=exchange.call,
        retry_of=seen.retry_of if seen else None,
        dialect=asked.dialect.name if asked.dialect else None,
        method=asked.method,
        path=asked.tail,
        stream=request.stream if request else None,
        auxiliary=seen.auxiliary if seen else asked.aside,
        tools=seen.tools if seen else None,
        tools_offered=offered,
        context=seen.context if seen else None,
        messages=seen.messages if seen else None,
        known=seen.known if seen else None,
        added=list(seen.added) if seen and not bare else [],
        sampling=asked.sampling,
        removed_tools=asked.removed,
        delayed_ms=exchange.delayed_ms,
        bytes=len(asked.sent),
        digest=asked.digest,
        body=body,
    )


def _responded(exchange: Exchange, told: Told) -> dict[str, Any]:
    answer = exchange.answer or Answer()
    return {
        "model": answer.model,
        "usage": answer.usage,
        "raw": answer.raw_usage,
        "finish_reason": answer.finish_reason,
        "call": exchange.call,
        "response": answer.id,
        "message": told.key,
        "calls": list(told.ids),
        "status": exchange.status,
        "ended": exchange.ended,
        "error": exchange.error,
        "token_ids": answer.token_ids,
        "prompt_token_ids": answer.prompt_token_ids,
        "logprobs": answer.logprobs,
        "first_byte_ns": exchange.first_byte_ns,
        "first_token_ns": exchange.first_token_ns,
        "last_token_ns": exchange.last_token_ns,
        "duration_ns": exchange.now(),
        "bytes": exchange.bytes if exchange.status is not None else None,
        "digest": exchange.digest,
        "replayed": exchange.replayed,
    }
