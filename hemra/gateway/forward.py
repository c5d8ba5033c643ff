"""Passes one request on to the model and its answer back, as they come, and notes what happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict

from hemra.gateway.arrival import TooLarge, TooSlow, body_of, read_within
from hemra.gateway.asked import Asked, form_of, read
from hemra.gateway.backlog import Backlog
from hemra.gateway.budget import UNITS
from hemra.gateway.exchange import Exchange
from hemra.gateway.failures import failure
from hemra.gateway.key_guard import SEARCHED, KeyGuard
from hemra.gateway.latency import held_back_ms
from hemra.gateway.memory import Holding, Memory
from hemra.gateway.probes import Local
from hemra.gateway.settle import admit, crowded, refusal, settle, settle_spoken
from hemra.gateway.turns import Turns
from hemra.gateway.upstream import (
    ModelClient,
    Unreachable,
    request_headers,
    response_headers,
    target,
)

if TYPE_CHECKING:
    from hemra.gateway.channel import Cassette, Channel, Recorded, ResolvedUpstream

#: Flag of a trial: a request to the model was not read.
UNREAD = "request_unread"
_JSON = {"Content-Type": "application/json"}
#: What an endpoint's failure becomes where it has no answer of its own.
_STATUS = {"unreachable": 502, "timeout": 504, "junk": 502}


class Relayed(web.StreamResponse):
    """An answer that is passed on: it has the endpoint's headers and no others. Its head goes out with the first of
    its body where that is at hand, else `send_headers` of what `prepare` returns sends it at once."""

    _send_headers_immediately = False

    def __init__(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        super().__init__(status=status, reason=reason, headers=headers)
        self.given = frozenset(name.lower() for name in headers)


@dataclass
class Shared:
    """What all requests of a gateway share."""

    client: ModelClient
    backlog: Backlog = field(default_factory=Backlog)
    turns: Turns = field(default_factory=Turns)
    memory: Memory = field(default_factory=Memory)


class Forwarding:
    """One request of one channel."""

    def __init__(self, channel: Channel, request: web.Request, tail: str, shared: Shared) -> None:
        self._channel, self._request, self._tail, self._shared = channel, request, tail, shared
        upstream = channel.spec.upstream
        self._form = form_of(tail.partition("?")[0], upstream.dialect if upstream else None)

    async def run(self, local: Local | None) -> web.StreamResponse:
        """Answer it. `local`: the answer to a question that no model is asked. Cancelled when the harness goes."""
        arrived_ns = time.monotonic_ns()
        holding = Holding(self._shared.memory, self._channel.spec.trial)
        try:
            await self._shared.turns.next()
            asked = await self._arrived(holding)
            return await self._exchange(asked, arrived_ns, holding, local)
        except TooLarge:
            self._channel.flag("request_too_large")
            return self._error(413, "request_too_large", "the request is larger than the gateway takes")
        except TooSlow:
            self._channel.flag("request_too_slow")
            return self._error(408, "request_too_slow", "the request did not come in time")
        finally:
            holding.leave()

    async def _arrived(self, holding: Holding) -> Asked:
        """The request, once it is whole and read."""
        spec, request = self._channel.spec, self._request
        waits = partial(self._channel.flag, "request_waited")
        body = await body_of(request, holding.body, waits)
        encoding = ", ".join(request.headers.getall("Content-Encoding", []))
        reading = partial(
            read, request.method, self._tail, encoding=encoding,
            sampling=spec.sampling, unwanted=spec.forbidden if spec.strip_tools else None,
            url=target(spec.upstream.base_url, self._tail) if spec.upstream is not None else None,
        )  # fmt: skip
        return await read_within(holding.reading, reading, body, packed=bool(encoding), waits=waits)

    async def _exchange(
        self, asked: Asked, arrived_ns: int, holding: Holding, local: Local | None
    ) -> web.StreamResponse:
        channel = self._channel
        if channel.closed:
            return self._break(None)
        keep = channel.spec.blob is not None
        exchange = Exchange(channel.next_call(), asked, arrived_ns, keep=keep, holding=holding)
        channel.open[exchange.call] = exchange
        try:
            return await self._answer(exchange, local)
        except ConnectionError:
            return self._break(None)  # the harness went while it was being answered
        finally:
            # Whoever broke it off: what is not known to have ended otherwise was given up by the harness.
            settle(channel, exchange, "disconnected")

    async def _answer(self, exchange: Exchange, local: Local | None) -> web.StreamResponse:
        channel, recording = self._channel, self._channel.recording
        await self._turn_comes(exchange)
        # What is refused is not kept, nor looked into: a harness may ask it a thousand times.
        refused = None
        if local is None:
            refused = _unreadable(channel, exchange.asked) or refusal(channel, exchange)
        kept = None
        if refused is None and local is None and exchange.asked.dialect is not None:
            kept = await recording.keep(exchange.asked.plain)
            await self._turn_comes(exchange)
            refused = refusal(channel, exchange)
        if refused is None:
            recording.see(exchange)
            if exchange.seen is not None:
                exchange.delayed_ms = held_back_ms(
                    exchange.seen.results, channel.spec.latency_ms, channel.spec.names
                )
            if local is None:
                admit(channel, exchange)
        recording.requested(exchange, kept, refused=refused is not None)
        if channel.spec.cassette is None:
            exchange.let_go()
        if refused is not None:
            return await self._own(exchange, "refused", 400, *refused)
        if local is not None:
            return await self._tell(exchange, "complete", local.status, local.headers, local.body)
        if exchange.delayed_ms:
            await asyncio.sleep(exchange.delayed_ms / 1000)
        if channel.spec.cassette is not None:
            replayed = await self._from_cassette(exchange)
            if replayed is not None:
                return replayed
            exchange.let_go()
        upstream = channel.spec.upstream
        if upstream is None:
            return await self._own(
                exchange, "unreachable", 502, "no_upstream", "this trial has no model to ask"
            )
        return await self._from_upstream(exchange, upstream)

    async def _turn_comes(self, exchange: Exchange) -> None:
        """Return when what came before is written down and there is room for one more. From then on until the next
        wait nothing changes."""
        channel = self._channel
        settle_spoken(channel)
        while channel.recording.behind or crowded(channel, exchange):
            if channel.recording.behind:
                await channel.recording.catch_up()
            else:
                await channel.room()
            settle_spoken(channel)

    async def _from_upstream(self, exchange: Exchange, upstream: ResolvedUpstream) -> web.StreamResponse:
        asked, request = exchange.asked, self._request
        dialect = asked.dialect.name if asked.dialect else None
        headers = request_headers(request.headers.items(), upstream, dialect, rewritten=asked.rewritten)
        self._channel.recording.compare(exchange, upstream.dialect)
        exchange.sent()
        try:
            answer = await self._shared.client.ask(upstream, asked.method, asked.tail, headers, asked.sent)
        except (aiohttp.ClientError, OSError, Unreachable, ValueError) as error:
            return await self._failed(exchange, upstream, error)
        exchange.has_gone()
        try:
            return await self._relay(exchange, upstream, answer)
        finally:
            answer.close()

    async def _failed(
        self, exchange: Exchange, upstream: ResolvedUpstream, error: BaseException
    ) -> web.StreamResponse:
        """There was no answer at all. A connection that broke is broken here too; else the harness is told."""
        ended, text = failure(error)
        if ended == "cut":
            exchange.error = text
            settle(self._channel, exchange, "cut")
            return self._break(None)
        if ended == "timeout":
            text = f"the model's endpoint did not begin to answer within {upstream.idle_s:g} s"
        return await self._own(exchange, ended, _STATUS[ended], f"upstream_{ended}", text, gone=True)

    async def _relay(
        self, exchange: Exchange, upstream: ResolvedUpstream, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        guard = KeyGuard(upstream.key)
        headers = guard.headers(response_headers(answer.raw_headers))
        exchange.begin(answer.status, answer.headers)
        response = Relayed(answer.status, guard.text(answer.reason), headers)
        if guard.reads_whole(answer.status, answer.headers, asked_stream=_streams(exchange)):
            return await self._relay_whole(exchange, answer, response, guard)
        writer = await response.prepare(self._request)
        content, ended, broken = answer.content, "complete", None
        if writer is not None and not content.total_bytes:
            writer.send_headers()
        while broken is None:
            try:
                chunk = await content.readany()
            except (aiohttp.ClientError, OSError) as error:
                broken, chunk = error, content._read_nowait(-1)  # what had come before it broke
            over = not chunk or broken is not None
            chunk = guard.feed(chunk, last=over)
            if over and not chunk and broken is None:
                break
            if chunk:
                exchange.passing = True
                await response.write(chunk)
                exchange.take(chunk)
                self._shared.backlog.put(exchange)
        if broken is not None:
            ended, exchange.error = failure(broken)
        await self._shared.turns.next()
        settle(self._channel, exchange, ended)
        if broken is not None:
            return self._break(response)
        await response.write_eof()
        return response

    async def _relay_whole(
        self, exchange: Exchange, answer: aiohttp.ClientResponse, response: Relayed, guard: KeyGuard
    ) -> web.StreamResponse:
        """Some endpoints repeat a key. A body that must be seen as a whole for that waits for its end."""
        broken: BaseException | None = None
        body = b""
        while broken is None and len(body) < SEARCHED:
            try:
                chunk = await answer.content.readany()
            except (aiohttp.ClientError, OSError) as error:
                broken, chunk = error, answer.content._read_nowait(-1)
            if not chunk and broken is None:
                break
            body += chunk
        found = guard.whole(body, answer.headers.get("Content-Encoding"))
        if found != body:
            body = found
            response.headers.pop("Content-Encoding", None)
            if response.headers.pop("Content-Length", None) is not None:
                response.content_length = len(body)
            exchange.begin(answer.status, response.headers)
        await response.prepare(self._request)
        await response.write(body)
        exchange.take(body)
        ended = "complete"
        if broken is not None:
            ended, text = failure(broken)
            exchange.error = text if answer.status < 400 else None  # an error tells itself what it is
        settle(self._channel, exchange, ended)
        if broken is not None or not answer.content.at_eof():
            return self._break(response)
        await response.write_eof()
        return response

    async def _from_cassette(self, exchange: Exchange) -> web.StreamResponse | None:
        """The recorded answer; null where there is none and the model is to be asked."""
        cassette, asked = self._channel.spec.cassette, exchange.asked
        assert cassette is not None
        async with self._channel.reading:
            recorded = await asyncio.to_thread(_recorded, cassette, exchange)
            miss = cassette.misses[-1] if recorded is None and cassette.misses else "it was not recorded"
            if recorded is not None:
                await exchange.holding.played.take(len(recorded.body))
        if recorded is not None:
            return await self._replay(exchange, recorded)
        if cassette.upstream and self._channel.spec.upstream is not None:
            return None
        if asked.dialect is None:
            return await self._own(
                exchange, "refused", 404, "not_recorded", "the cassette has no answer to this"
            )
        self._channel.flag("cassette_miss")
        return await self._own(exchange, "refused", 400, "cassette_miss", miss)

    async def _replay(self, exchange: Exchange, recorded: Recorded) -> web.StreamResponse:
        cut = recorded.ended in ("cut", "disconnected")
        headers = _plain(recorded.headers)
        exchange.replayed = recorded.replayed
        exchange.sent()
        exchange.begin(recorded.status, headers)
        exchange.take(recorded.body)
        settle(self._channel, exchange, "cut" if cut else "complete")
        response = Relayed(recorded.status, None, headers)
        if not cut:
            response.content_length = len(recorded.body)
        await response.prepare(self._request)
        await response.write(recorded.body)
        if cut:
            return self._break(response)
        await response.write_eof()
        return response

    async def _own(
        self, exchange: Exchange, ended: str, status: int, code: str, message: str, *, gone: bool = False
    ) -> web.StreamResponse:
        """An answer of the gateway itself. `gone`: it stands for one that the endpoint did not give."""
        body = self._form.error(status, code, message)
        exchange.error = message if gone else {"code": code, "message": message}
        if not gone:
            return await self._tell(exchange, ended, status, _JSON, body)
        settle(self._channel, exchange, ended)
        return web.Response(status=status, body=body, headers=_JSON)

    async def _tell(
        self, exchange: Exchange, ended: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> web.StreamResponse:
        """A whole answer that is at hand."""
        exchange.sent()
        plain = _plain(headers)
        exchange.begin(status, plain)
        exchange.take(body)
        settle(self._channel, exchange, ended)
        return web.Response(status=status, body=body, headers=plain)

    def _error(self, status: int, code: str, message: str) -> web.Response:
        return web.Response(status=status, body=self._form.error(status, code, message), headers=_JSON)

    def _break(self, response: web.StreamResponse | None) -> web.StreamResponse:
        """Break the harness's connection off: what was written goes out, and nothing says that it is the end."""
        if self._request.transport is not None:
            self._request.transport.close()
        return response or web.Response(status=502)


def _unreadable(channel: Channel, asked: Asked) -> tuple[str, str] | None:
    """Why a request that cannot be read is not passed on: the task wants something of it. Null where it may go on."""
    if asked.problem is None:
        return None
    channel.flag(UNREAD)
    spec = channel.spec
    asks = any(value is not None for value in msgspec.to_builtins(spec.sampling).values())
    limited = any(getattr(spec.limits, name) is not None for name in UNITS)
    if not (asks or spec.strip_tools or limited):
        return None
    channel.refused += 1
    if channel.guard.refused():
        channel.over.set()
    return (
        "request_unreadable",
        f"{asked.problem}; this trial has rules that cannot be kept without reading it",
    )


def _recorded(cassette: Cassette, exchange: Exchange) -> Recorded | None:
    """What a cassette has for a request."""
    asked, seen = exchange.asked, exchange.seen
    if asked.dialect is None:
        return cassette.other(asked.method, asked.tail)
    if asked.request is None:
        return None
    context = seen.context if seen is not None else None
    return cassette.answer(asked.dialect.name, bool(asked.request.stream), context, asked.request)


def _plain(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Headers for a body that is sent as it is."""
    return CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in ("content-length", "content-encoding", "transfer-encoding", "connection")
    )


def _streams(exchange: Exchange) -> bool:
    """Whether a request asked for a stream."""
    request = exchange.asked.request
    return request is not None and bool(request.stream)
