"""What comes out of a container, taken apart: two outputs in one stream, and words of process 1 between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from hemra.sandboxes.docker_engine import Stream
from hemra.sandboxes.output import DRAIN_BYTES

CHUNK_BYTES = 64 * 1024
_HEAD_BYTES = 8
_NAMES = {1: "stdout", 2: "stderr"}
#: Chunks that wait for their reader; then the engine, and with it the program, is held back.
_WAITING = 2
#: What process 1 says is shorter than this.
_LONGEST_WORD = 400


class Output:
    """One output of a program, as `OutputDelivery` reads it."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._changed = asyncio.Condition()
        self._room: int | None = None
        self._closed = False

    async def put(self, chunk: bytes) -> None:
        """More of it; empty = the end. Waits while it is not read, unless it was released or closed."""
        async with self._changed:
            while len(self._chunks) >= _WAITING and self._room is None and not self._closed:
                await self._changed.wait()
            if self._closed:
                return
            if self._room is not None:
                chunk, end = chunk[: self._room], not chunk
                self._room -= len(chunk)
                if not chunk and not end:
                    return
            self._chunks.append(chunk)
            self._changed.notify_all()

    async def read(self) -> bytes:
        """The next bytes; empty at the end, then and ever after."""
        async with self._changed:
            while not self._chunks and not self._closed:
                await self._changed.wait()
            chunk = self._chunks.popleft() if self._chunks else b""
            self._closed = self._closed or not chunk
            self._changed.notify_all()
            return chunk

    async def release(self) -> None:
        """Whoever puts something in waits no more: the program is being killed, and the engine tells that it is
        dead only once all that it printed was taken. More than pipes hold is dropped."""
        async with self._changed:
            self._room = DRAIN_BYTES if self._room is None else self._room
            self._changed.notify_all()

    def close(self) -> None:
        """It is not read any more; whoever waits to put something in goes on at its next turn."""
        self._closed = True
        self._chunks.clear()


class WordFinder:
    """Takes lines that begin with a secret word out of a stream; they begin anywhere in it."""

    def __init__(self, word: str, heard: Callable[[list[str]], None]) -> None:
        self._word = word.encode()
        self._heard = heard
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What of it the program said. The beginning of a word that may follow is held back."""
        data = self._held + chunk
        said = b""
        while (at := data.find(self._word)) >= 0:
            end = data.find(b"\n", at)
            if end < 0 and len(data) - at < _LONGEST_WORD:
                self._held = data[at:]
                return said + data[:at]
            line = data[at:] if end < 0 else data[at:end]
            said += data[:at]
            data = b"" if end < 0 else data[end + 1 :]
            self._heard(line.decode("utf-8", "replace").split()[1:])
        keep = _common(data, self._word)
        self._held = data[len(data) - keep :]
        return said + data[: len(data) - keep]

    def rest(self) -> bytes:
        """What was held back and did not become a word."""
        held, self._held = self._held, b""
        return held


def _common(data: bytes, word: bytes) -> int:
    """How many bytes at the end of `data` may be the beginning of `word`."""
    for length in range(min(len(data), len(word) - 1), 0, -1):
        if data.endswith(word[:length]):
            return length
    return 0


async def frames(stream: Stream) -> AsyncIterator[tuple[str, bytes]]:
    """(output, bytes) of a stream that holds both, in pieces of at most 64 KiB."""
    while True:
        try:
            head = await stream.reader.readexactly(_HEAD_BYTES)
        except (asyncio.IncompleteReadError, OSError):
            return
        left = int.from_bytes(head[4:], "big")
        name = _NAMES.get(head[0], "stdout")
        while left:
            try:
                piece = await stream.reader.read(min(left, CHUNK_BYTES))
            except OSError:
                return
            if not piece:
                return
            left -= len(piece)
            yield name, piece


async def raw(stream: Stream) -> AsyncIterator[tuple[str, bytes]]:
    """The same of a terminal, which has one output."""
    while True:
        try:
            piece = await stream.reader.read(CHUNK_BYTES)
        except OSError:
            return
        if not piece:
            return
        yield "stdout", piece
