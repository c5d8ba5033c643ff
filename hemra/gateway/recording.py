"""Writes down what an exchange brought. What fails here is flagged and noted, and is no matter to the harness."""

from __future__ import annotations

import asyncio
import hashlib
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
from hemra.gateway.conversation import Called, Seen, Told
from hemra.gateway.normal import Answer, Message

if TYPE_CHECKING:
    from hemra.gateway.channel import Channel
    from hemra.gateway.exchange import Exchange

FAILED, UNREADABLE = "recording_failed", "answer_not_read"


class Recording:
    """The record of one channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._told: set[str] = set()
        self._pending: asyncio.Task[None] | None = None  # the last answer that waits for its body to be kept

    def see(self, exchange: Exchange) -> None:
        """Find out what a request brings; `exchange.seen` is what was found."""
        asked = exchange.asked
        if asked.request is None:
            return
        conversation = self._channel.conversation
        exchange.seen = self._kept(
            lambda: conversation.request(exchange.call, asked.request, auxiliary=asked.aside)  # type: ignore[arg-type]
        )

    def requested(self, exchange: Exchange, body: str | None) -> None:
        """Write down a request and what it brought. `body`: the digest of the kept body."""
        exchange.requested = True
        self._kept(lambda: self._channel.spec.emit(_requested(exchange, body)))
        seen = exchange.seen
        if seen is None or not self._channel.spec.tells_tools:
            return
        self._kept(lambda: self._tell_seen(exchange.call, seen))

    def _tell_seen(self, call: str, seen: Seen) -> None:
        emit = self._channel.spec.emit
        for called in seen.calls:
            emit(_called(called))
        for result in seen.results:
            emit(ToolReturned(call=result.call, name=result.name, ok=result.ok, result=result.result))
        for key, message in seen.fresh:
            emit(_message(key, message, call))

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
        body = b"".join(exchange.kept) if keeps and exchange.kept else b""
        before = self._pending
        if not keeps and (before is None or before.done()):
            self._answered(exchange, told, event)
            return

        async def tell_later() -> None:
            if keeps:
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
        try:
            return await asyncio.to_thread(blob, body)
        except Exception as error:  # noqa: BLE001 - a body that cannot be kept must not end a trial
            self._note(FAILED, f"a body could not be kept: {error}")
            return None

    def _answered(self, exchange: Exchange, told: Told, event: dict[str, Any]) -> None:
        def tell() -> None:
            emit = self._channel.spec.emit
            emit(ModelResponded(**event))
            if not self._channel.spec.tells_tools:
                return
            if told.message is not None:
                emit(_message(*told.message, exchange.call))
            for called in told.calls:
                emit(_called(called))

        self._kept(tell)

    def _kept(self, work: Callable[[], Any]) -> Any:
        """The result of a piece of recording; null, with a flag and a note, where it failed."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - a fault in the record must not reach the harness
            self._note(FAILED, f"{type(error).__name__}: {error}")
            return None

    def _note(self, code: str, text: str) -> None:
        """Flag what could not be recorded, and say it once."""
        self._channel.flag(code)
        if text in self._told:
            return
        self._told.add(text)
        try:
            self._channel.spec.emit(NoteRecorded(level="error", code=f"gateway_{code}", text=text))
        except Exception as error:  # noqa: BLE001 - the log takes nothing more; the flag is left
            self._told.add(str(error))


def _message(key: str, message: Message, call: str) -> MessageRecorded:
    return MessageRecorded(
        role=message.role, text=message.text, reasoning=message.reasoning, key=key, call=call
    )


def _called(called: Called) -> ToolCalled:
    call = called.call
    return ToolCalled(
        call=call.id, name=call.name, arguments=call.arguments, turn=called.turn, written=call.written
    )


def _requested(exchange: Exchange, body: str | None) -> ModelRequested:
    asked, seen = exchange.asked, exchange.seen
    request = asked.request
    offered = None
    if request is not None and seen is not None and seen.tools_new:
        offered = [tool.definition for tool in request.tools]
    return ModelRequested(
        model=request.model if request else None,
        parameters=request.parameters if request else {},
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
        added=list(seen.added) if seen else [],
        sampling=asked.sampling,
        removed_tools=asked.removed,
        delayed_ms=exchange.delayed_ms,
        bytes=len(asked.sent),
        digest="sha256:" + hashlib.sha256(asked.sent).hexdigest(),
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
