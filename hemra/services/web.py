"""The mock web of a trial: a small HTTP server on loopback that serves one site and remembers what it was asked.

It speaks as much of HTTP/1.1 as clients need: GET and HEAD, one answer a connection, everything else 405. A client
that is slow, huge or hostile is cut off; it can reach nothing but the site.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import socket
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from hemra.errors import HemraError
from hemra.sandboxes.base import Endpoint
from hemra.services.site import Answer, Site

HOST = "127.0.0.1"
#: Bytes of a request's head, seconds for it to arrive, requests remembered, connections at a time.
MAX_HEAD, HEAD_SECONDS, MAX_LOG, MAX_OPEN = 16 * 1024, 10.0, 5000, 64
#: The port is drawn from these by task and seed, so that the address is the same again where it is free.
PORTS = range(20_000, 30_000)
_TRIES = 20
_UNREADY = Answer(503, b"503: not there yet\n")


class Web:
    """One server. `site` may be set later than `start`; until then everything is a 503."""

    def __init__(self, drawn_from: str) -> None:
        self.site: Site | None = None
        self.requests: list[dict[str, Any]] = []
        self._drawn_from = drawn_from
        self._server: asyncio.Server | None = None
        self._began = time.monotonic()
        self._open: set[asyncio.Task[None]] = set()
        self.endpoint = Endpoint(HOST, 0)

    async def start(self) -> None:
        """Listen. Raises HemraError where no port can be had."""
        listener = _listener(self._drawn_from)
        self.endpoint = Endpoint(HOST, listener.getsockname()[1])
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=MAX_HEAD)

    async def close(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) <= MAX_OPEN:
                await self._serve(reader, writer)
        except (OSError, asyncio.LimitOverrunError, asyncio.IncompleteReadError, TimeoutError):
            return  # the client went away, or was none; there is nobody to be told
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        arrived = time.monotonic() - self._began
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/"):
            await _send(writer, Answer(400, b"400: not a request\n"), body=True)
            return
        method, target = words[0], words[1]
        # A proxy's form (http://host/path) means the same page.
        parts = _address(target)
        if parts is None:
            answer = Answer(400, b"400: not an address\n")
        elif method not in ("GET", "HEAD"):
            answer = Answer(405, b"405: only GET and HEAD\n", headers=(("Allow", "GET, HEAD"),))
        elif self.site is None:
            answer = _UNREADY
        else:
            answer = self.site.answer(unquote(parts.path) or "/", parts.query)
        if len(self.requests) < MAX_LOG:
            path = target if parts is None else parts.path + (f"?{parts.query}" if parts.query else "")
            entry = {"method": method, "path": path, "status": answer.status, "time_s": round(arrived, 4)}
            self.requests.append(entry)
        await asyncio.sleep(answer.delay_seconds)
        await _send(writer, answer, body=method != "HEAD")


def _address(target: str) -> SplitResult | None:
    """The parts of what is asked for; None where it is no address."""
    try:
        return urlsplit(target) if target.startswith("/") or "://" in target else None
    except ValueError:
        return None


async def _send(writer: asyncio.StreamWriter, answer: Answer, *, body: bool) -> None:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [
        f"HTTP/1.1 {answer.status} {phrase}",
        f"Content-Type: {answer.kind}",
        f"Content-Length: {len(answer.content)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in answer.headers),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (answer.content if body else b""))
    await writer.drain()


def _listener(drawn_from: str) -> socket.socket:
    """A listening socket: on one of a few ports drawn from the text, else on any that is free."""
    digest = hashlib.sha256(drawn_from.encode()).digest()
    drawn = [PORTS[int.from_bytes(digest[n : n + 2]) % len(PORTS)] for n in range(_TRIES)]
    for port in [*drawn, 0]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(MAX_OPEN)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or port == 0:
                raise HemraError(f"the mock web cannot listen on {HOST}: {error.strerror}") from error
        else:
            listener.setblocking(False)
            return listener
    raise AssertionError("the last port that is tried is any")
