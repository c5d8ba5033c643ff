"""The endpoint and the client of the gateway's benchmark: as little between the clock and the socket as can be."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field

RATE = 200  # tokens a second
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_STAMP = b'"content":"@'
_END = b"0\r\n\r\n"


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
        self._out.write(_END)

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
    """One answer: milliseconds to its first and last byte, and how late each of its tokens came."""

    first_ms: float = 0.0
    whole_ms: float = 0.0
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
        self._got, self._done = Got(), asyncio.get_running_loop().create_future()
        self._size, self._head, self._end, self._whole = 0, b"", b"", None  # type: int, bytes, bytes, int | None
        self._began = time.monotonic_ns()
        self._out.write(head.encode() + body)
        await self._done
        return self._got

    def data_received(self, data: bytes) -> None:
        """Look at the clock first. What is done here for a token must not grow with their number: it would be told
        as lateness of the endpoint."""
        now = time.monotonic_ns()
        if not self._size:
            self._got.first_ms = (now - self._began) / 1e6
        if self._stamps:
            for part in data.split(_STAMP)[1:]:
                self._got.late_ms.append((now - int(part[: part.index(b" ")])) / 1e6)
        self._size += len(data)
        self._end = (self._end + data)[-len(_END) :]
        if self._whole is None:
            self._whole = self._length(data)
        ended = self._size >= self._whole if self._whole else self._end == _END
        if ended and not self._done.done():
            self._got.whole_ms = (time.monotonic_ns() - self._began) / 1e6
            self._done.set_result(None)

    def _length(self, data: bytes) -> int | None:
        """Bytes of the answer with its head; 0 where chunks say its end, null where the head is not whole yet."""
        self._head += data
        head, mark, _ = self._head.partition(b"\r\n\r\n")
        if not mark:
            return None
        length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        return len(head) + len(mark) + int(length) if length else 0


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a port of this machine."""
    return await asyncio.open_connection("127.0.0.1", port)


class Sink(asyncio.Protocol):
    """Takes requests of any size, keeps nothing of them, and answers each with a stream of at least `size` bytes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._head, self._left = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._out = transport
        self._free = asyncio.Event()
        self._free.set()

    def data_received(self, data: bytes) -> None:
        """Answer when the request is whole."""
        if not self._left:
            self._head += data
            head, mark, body = self._head.partition(b"\r\n\r\n")
            if not mark:
                return
            length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
            self._left, data = int(length), body
        self._left -= len(data)
        if not self._left:
            self._head = b""
            self._answering = asyncio.ensure_future(self._answer())

    async def _answer(self) -> None:
        said = _chunk(b'"delta":{"content":"%s"},"finish_reason":null' % (b"word " * 12000))
        last = _chunk(b'"delta":{"content":"."},"finish_reason":"stop"') + b"data: [DONE]\n\n"
        pieces = [said] * -(-self._size // len(said)) + [last]
        self._out.write(_HEAD)
        for piece in pieces:
            self._out.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await self._free.wait()
        self._out.write(_END)

    def pause_writing(self) -> None:
        """The gateway does not read."""
        self._free.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._free.set()
