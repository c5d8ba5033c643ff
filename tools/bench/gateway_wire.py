"""The endpoint and the client of the gateway's benchmark: as little between the clock and the socket as can be."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, field

RATE = 200  # tokens a second
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_STAMP = b'"content":"@'


class Metronome(asyncio.Protocol):
    """Answers every request with a stream of tokens; each says at which nanosecond it was due."""

    def __init__(self) -> None:
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._out = transport

    def data_received(self, data: bytes) -> None:
        """Begin when the request is whole."""
        self._read += data
        head, mark, body = self._read.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        if mark and len(body) >= length:
            self._read = b""
            self._left = json.loads(body)["max_tokens"]
            self._out.write(_HEAD)
            self._due = time.monotonic_ns()
            self._tick()

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while self._left and self._due <= time.monotonic_ns():
            self._say(_chunk(b'"delta":{%s%d "},"finish_reason":null' % (_STAMP, self._due)))
            self._left -= 1
            self._due += 1_000_000_000 // RATE
        if self._left:
            loop.call_later((self._due - time.monotonic_ns()) / 1e9, self._tick)
            return
        usage = b'"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}'
        self._say(_chunk(b'"delta":{},"finish_reason":"stop"') + b"data: {%s}\n\ndata: [DONE]\n\n" % usage)
        self._out.write(b"0\r\n\r\n")

    def _say(self, content: bytes) -> None:
        self._out.write(b"%x\r\n%s\r\n" % (len(content), content))


def _chunk(choice: bytes) -> bytes:
    return (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"test-model",'
        b'"choices":[{"index":0,%s}]}\n\n' % choice
    )


class Relay(asyncio.Protocol):
    """Hands bytes on to an endpoint and back and does nothing else: what any process in between costs here."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wait = b""
        self._up: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the endpoint."""
        assert isinstance(transport, asyncio.Transport)
        self._connecting = asyncio.ensure_future(self._connect(transport))

    async def _connect(self, down: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        self._up, _ = await loop.create_connection(lambda: _Back(down), "127.0.0.1", self._port)
        self._up.write(self._wait)

    def data_received(self, data: bytes) -> None:
        """There."""
        if self._up is None:
            self._wait += data
        else:
            self._up.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        """The client has gone."""
        if self._up is not None:
            self._up.close()


class _Back(asyncio.Protocol):
    def __init__(self, down: asyncio.Transport) -> None:
        self._down = down

    def data_received(self, data: bytes) -> None:
        """And back."""
        self._down.write(data)


@dataclass
class Got:
    """One answer: milliseconds to its first and last byte, its hash, and how late each of its tokens came."""

    first_ms: float = 0.0
    whole_ms: float = 0.0
    digest: str = ""
    late_ms: list[float] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One kept connection that asks one thing after the other."""

    def __init__(self, stamps: bool) -> None:
        self._stamps = stamps

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        assert isinstance(transport, asyncio.Transport)
        self._out = transport

    async def ask(self, path: str, token: str, **fields: object) -> Got:
        """Ask, and return when the answer is whole."""
        body = json.dumps({"model": "test-model", **fields}).encode()
        head = (
            f"POST {path}/v1/chat/completions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._got, self._data, self._done = Got(), b"", asyncio.get_running_loop().create_future()
        self._began = time.monotonic_ns()
        self._out.write(head.encode() + body)
        await self._done
        return self._got

    def data_received(self, data: bytes) -> None:
        """Look at the clock first."""
        now = time.monotonic_ns()
        if not self._data:
            self._got.first_ms = (now - self._began) / 1e6
        if self._stamps:
            for part in data.split(_STAMP)[1:]:
                self._got.late_ms.append((now - int(part[: part.index(b" ")])) / 1e6)
        self._data += data
        head, mark, body = self._data.partition(b"\r\n\r\n")
        if not mark:
            return
        low = head.lower()
        if b"content-length: " in low:
            whole = len(body) >= int(low.partition(b"content-length: ")[2].split(b"\r\n")[0])
        else:
            whole = body.endswith(b"0\r\n\r\n")
        if whole and not self._done.done():
            self._got.whole_ms = (time.monotonic_ns() - self._began) / 1e6
            self._got.digest = hashlib.sha256(_plain(head, body)).hexdigest()
            self._done.set_result(None)


def _plain(head: bytes, body: bytes) -> bytes:
    """The body without the frames of its chunks."""
    if b"chunked" not in head.lower():
        return body
    out = []
    while body:
        size, _, body = body.partition(b"\r\n")
        out.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(out)
