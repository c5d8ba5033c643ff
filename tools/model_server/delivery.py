"""Puts an answer on the wire: in the pace of the script, with what it wants to go wrong."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable

from aiohttp import web

from .dialects import Dialect
from .director import Decision
from .exchange import Asked, Piece, wire
from .journal import Entry, Journal
from .script import Fault

_SSE = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
_JSON = {"Content-Type": "application/json"}
_JUNK = b"<html><body><h1>It works!</h1></body></html>\n"


class Wire:
    """Writes one response and keeps the account of it. The entry is closed with the last byte."""

    def __init__(self, request: web.Request, entry: Entry, journal: Journal) -> None:
        self._request, self._entry, self._journal = request, entry, journal
        self._response: web.StreamResponse | None = None
        self._digest = hashlib.sha256()

    async def begin(self, status: int, headers: dict[str, str], length: int | None = None) -> None:
        """Send the head of the response."""
        response = web.StreamResponse(status=status, headers=headers)
        if length is not None:
            response.content_length = length
        self._response = response
        self._entry.status = status
        await response.prepare(self._request)

    async def write(self, piece: Piece) -> None:
        """Send one piece; to HEAD, which asks for the head alone, nothing."""
        assert self._response is not None, "begin comes first"
        if self._request.method == "HEAD":
            return
        await self._response.write(piece.content)
        entry, now = self._entry, self._journal.now()
        self._digest.update(piece.content)
        entry.response_bytes += len(piece.content)
        entry.tokens_sent += piece.tokens
        entry.response_sha256 = self._digest.hexdigest()
        entry.last_byte_s = now
        if entry.first_byte_s is None:
            entry.first_byte_s = now
        if piece.tokens and entry.first_token_s is None:
            entry.first_token_s = now

    async def end(self) -> web.StreamResponse:
        """Send the end of the response."""
        assert self._response is not None, "begin comes first"
        await self._response.write_eof()
        self._journal.finish(self._entry, "complete")
        return self._response

    def cut(self) -> web.StreamResponse:
        """Break the connection off: what was written goes out, and nothing says that it is the end."""
        if self._request.transport is not None:
            self._request.transport.close()
        self._journal.finish(self._entry, "cut")
        return self._response or web.Response(status=500)


async def send_json(
    wire_: Wire, status: int, body: object, headers: dict[str, str] | None = None
) -> web.StreamResponse:
    """Answer with one JSON object."""
    content = wire(body)
    await wire_.begin(status, _JSON | (headers or {}), len(content))
    await wire_.write(Piece(content))
    return await wire_.end()


class Delivery:
    """Delivers one decision."""

    def __init__(self, wire_: Wire, entry: Entry, dialect: Dialect, asked: Asked, decision: Decision) -> None:
        self._wire, self._entry, self._dialect = wire_, entry, dialect
        self._asked, self._decision = asked, decision

    async def run(self) -> web.StreamResponse:
        """Deliver. Cancelled when the client goes."""
        fault, pace = self._decision.fault, self._decision.pace
        if pace.headers_s:
            await asyncio.sleep(pace.headers_s)
        at_once = {"status": self._status, "hang": self._hang, "drop": self._drop, "junk": self._junk}
        if fault and fault.kind in at_once:
            return await at_once[fault.kind](fault)
        if self._asked.stream:
            return await self._stream(fault)
        return await self._whole(fault)

    async def _status(self, fault: Fault) -> web.StreamResponse:
        message = fault.message or f"scripted failure {fault.status}"
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        return await send_json(
            self._wire, fault.status, self._dialect.error(fault.status, message, fault.code), headers
        )

    async def _hang(self, fault: Fault) -> web.StreamResponse:
        await _wait(fault.seconds)
        return self._wire.cut()

    async def _drop(self, fault: Fault) -> web.StreamResponse:
        return self._wire.cut()

    async def _junk(self, fault: Fault) -> web.StreamResponse:
        await self._wire.begin(200, {"Content-Type": "text/html; charset=utf-8"}, len(_JUNK))
        await self._wire.write(Piece(_JUNK))
        return await self._wire.end()

    async def _whole(self, fault: Fault | None) -> web.StreamResponse:
        if fault and fault.kind == "error_event":
            return await self._status(Fault("status", status=500, message=fault.message, code=fault.code))
        content = wire(self._dialect.whole(self._decision.answer, self._asked))
        await self._first_token()
        tokens = self._tokens()
        await asyncio.sleep(self._seconds(tokens))
        await self._wire.begin(200, _JSON, len(content))
        if fault and fault.kind in ("cut", "stall"):
            await self._wire.write(Piece(content[: len(content) // 2]))
            if fault.kind == "stall":
                await _wait(fault.seconds)
            return self._wire.cut()
        await self._wire.write(Piece(content, tokens))
        self._told(True)
        return await self._wire.end()

    async def _stream(self, fault: Fault | None) -> web.StreamResponse:
        pieces = self._dialect.stream(self._decision.answer, self._asked)
        breaks = fault if fault and fault.kind in ("cut", "stall", "error_event") else None
        await self._wire.begin(200, _SSE)
        await self._first_token()
        await self._paced(_until(pieces, breaks.after_tokens) if breaks else pieces)
        if breaks is None:
            self._told(self._asked.include_usage)
            return await self._wire.end()
        if breaks.kind == "error_event":
            await self._wire.write(
                self._dialect.error_event(breaks.message or "scripted failure in the stream")
            )
            return await self._wire.end()
        if breaks.kind == "stall":
            await _wait(breaks.seconds)
        return self._wire.cut()

    async def _paced(self, pieces: Iterable[Piece]) -> None:
        """Each token at its own time, counted from the first, so that a late one delays no other."""
        loop, sent = asyncio.get_running_loop(), 0
        began = loop.time()
        for piece in pieces:
            wait = began + self._seconds(sent) - loop.time()
            if piece.tokens and wait > 0:
                await asyncio.sleep(wait)
            await self._wire.write(piece)
            sent += piece.tokens

    async def _first_token(self) -> None:
        if self._decision.pace.first_token_s:
            await asyncio.sleep(self._decision.pace.first_token_s)

    def _seconds(self, tokens: int) -> float:
        rate = self._decision.pace.tokens_per_second
        return tokens / rate if rate else 0.0

    def _tokens(self) -> int:
        return sum(piece.tokens for piece in self._dialect.stream(self._decision.answer, self._asked))

    def _told(self, usage_told: bool) -> None:
        """Enter what the delivered answer cost, and whether its client was told."""
        used = self._decision.answer.usage
        if used is None:
            return
        self._entry.usage = used.normal()
        self._entry.usage_raw = self._dialect.usage(used) if usage_told else None


def _until(pieces: Iterable[Piece], tokens: int) -> Iterable[Piece]:
    """The pieces before the token after the first so many."""
    for piece in pieces:
        tokens -= piece.tokens
        if tokens < 0:
            return
        yield piece


async def _wait(seconds: float | None) -> None:
    """Wait so long, or until the client goes."""
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)
