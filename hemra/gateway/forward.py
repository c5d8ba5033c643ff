"""Passes one request on to the model and its answer back, as they come, and notes what happened."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hemra.gateway.asked import form_of, read
from hemra.gateway.backlog import Backlog
from hemra.gateway.decoding import Undecodable, decoded
from hemra.gateway.exchange import Exchange
from hemra.gateway.latency import held_back_ms
from hemra.gateway.probes import Local
from hemra.gateway.settle import refusal, settle, settle_spoken
from hemra.gateway.upstream import ModelClient, Unreachable, failure, request_headers, response_headers

if TYPE_CHECKING:
    from hemra.gateway.channel import Cassette, Channel, Recorded, ResolvedUpstream

_JSON = {"Content-Type": "application/json"}
#: An error's body up to this size is searched for the key before it is passed on.
_SEARCHED = 1 << 20
#: What an endpoint's failure becomes where it has no answer of its own.
_STATUS = {"unreachable": 502, "timeout": 504, "junk": 502}


class Relayed(web.StreamResponse):
    """An answer that is passed on: it has the endpoint's headers and no others. Its head goes out with the first of
    its body where that is at hand, else `send_headers` of what `prepare` returns sends it at once."""

    _send_headers_immediately = False

    def __init__(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        super().__init__(status=status, reason=reason, headers=headers)
        self.given = frozenset(name.lower() for name in headers)


class Forwarding:
    """One request of one channel."""

    def __init__(
        self, channel: Channel, request: web.Request, tail: str, client: ModelClient, backlog: Backlog
    ) -> None:
        self._channel, self._request, self._tail = channel, request, tail
        self._client, self._backlog = client, backlog
        upstream = channel.spec.upstream
        self._form = form_of(tail.partition("?")[0], upstream.dialect if upstream else None)

    async def run(self, local: Local | None) -> web.StreamResponse:
        """Answer it. `local`: the answer to a question that no model is asked. Cancelled when the harness goes."""
        channel, spec = self._channel, self._channel.spec
        arrived_ns = time.monotonic_ns()
        try:
            body = await self._request.read()
        except web.HTTPRequestEntityTooLarge:
            channel.flag("request_too_large")
            return self._error(413, "request_too_large", "the request is larger than the gateway takes")
        asked = read(
            self._request.method, self._tail, body, self._request.headers.get("Content-Encoding"),
            sampling=spec.sampling, unwanted=spec.forbidden if spec.strip_tools else None,
        )  # fmt: skip
        if channel.closed:
            return self._break(None)
        exchange = Exchange(channel.next_call(), asked, arrived_ns, keep=spec.blob is not None)
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
        kept = await recording.keep(exchange.asked.plain) if exchange.asked.dialect is not None else None
        settle_spoken(channel)
        while recording.behind:
            await recording.catch_up()
            settle_spoken(channel)
        recording.see(exchange)
        refused = None if local is not None else refusal(channel, exchange)
        if refused is None and exchange.seen is not None:
            exchange.delayed_ms = held_back_ms(exchange.seen.results, channel.spec.latency_ms)
        recording.requested(exchange, kept)
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
        upstream = channel.spec.upstream
        if upstream is None:
            return await self._own(
                exchange, "unreachable", 502, "no_upstream", "this trial has no model to ask"
            )
        return await self._from_upstream(exchange, upstream)

    async def _from_upstream(self, exchange: Exchange, upstream: ResolvedUpstream) -> web.StreamResponse:
        asked, request = exchange.asked, self._request
        dialect = asked.dialect.name if asked.dialect else None
        headers = request_headers(request.headers.items(), upstream, dialect, rewritten=asked.rewritten)
        exchange.sent()
        try:
            answer = await self._client.ask(upstream, asked.method, asked.tail, headers, asked.sent)
        except (aiohttp.ClientError, OSError, Unreachable, ValueError) as error:
            return await self._failed(exchange, upstream, error)
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
        headers = response_headers(answer.raw_headers)
        exchange.begin(answer.status, answer.headers)
        response = Relayed(answer.status, answer.reason, headers)
        if answer.status >= 400 and upstream.key is not None:
            return await self._relay_error(exchange, answer, response, upstream.key.encode())
        writer = await response.prepare(self._request)
        content, ended, broken = answer.content, "complete", None
        if writer is not None and not content.total_bytes:
            writer.send_headers()
        while broken is None:
            try:
                chunk = await content.readany()
            except (aiohttp.ClientError, OSError) as error:
                broken, chunk = error, content._read_nowait(-1)  # what had come before it broke
            if not chunk and broken is None:
                break
            if chunk:
                await response.write(chunk)
                exchange.take(chunk)
                self._backlog.put(exchange)
        if broken is not None:
            ended, exchange.error = failure(broken)
        settle(self._channel, exchange, ended)
        if broken is not None:
            return self._break(response)
        await response.write_eof()
        return response

    async def _relay_error(
        self, exchange: Exchange, answer: aiohttp.ClientResponse, response: Relayed, key: bytes
    ) -> web.StreamResponse:
        """Some endpoints repeat a key that they do not like. It is passed on with the key taken out."""
        broken: BaseException | None = None
        body = b""
        while broken is None and len(body) < _SEARCHED:
            try:
                chunk = await answer.content.readany()
            except (aiohttp.ClientError, OSError) as error:
                broken, chunk = error, answer.content._read_nowait(-1)
            if not chunk and broken is None:
                break
            body += chunk
        found = without_key(body, answer.headers.get("Content-Encoding"), key)
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
            ended, _ = failure(broken)
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
        exchange.replayed = recorded.replayed
        if recorded.ended in ("cut", "disconnected"):
            headers = _plain(recorded.headers)
            exchange.begin(recorded.status, headers)
            response = Relayed(recorded.status, None, headers)
            await response.prepare(self._request)
            await response.write(recorded.body)
            exchange.take(recorded.body)
            settle(self._channel, exchange, "cut")
            return self._break(response)
        return await self._tell(exchange, "complete", recorded.status, recorded.headers, recorded.body)

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


def without_key(body: bytes, encoding: str | None, key: bytes) -> bytes:
    """The body itself where it does not hold the key; else unpacked, with the key replaced."""
    plain = body
    if encoding:
        with contextlib.suppress(Undecodable):
            plain = decoded(body, encoding)
    return plain.replace(key, b"[redacted]") if key in plain else body
