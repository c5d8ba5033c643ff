"""Pipes and terminals between the engine and a program, without blocking and without threads."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os

CHUNK_BYTES = 64 * 1024


class ByteSource:
    """The reading end of a pipe, or a terminal: bytes as they come, at most 64 KiB at once.

    Nothing is read before it is asked for, so a slow reader holds the program back. Owns the descriptor.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    async def read(self) -> bytes:
        """The next bytes; empty at the end (for a terminal: when the last program has left it)."""
        while True:
            try:
                return os.read(self._fd, CHUNK_BYTES)
            except BlockingIOError:
                await self._ready()
            except OSError as error:
                if error.errno == errno.EIO:  # how Linux says that nobody has the terminal open any more
                    return b""
                raise

    async def _ready(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._fd, _resolve, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)

    def close(self) -> None:
        """Give the descriptor back; no error when that was done."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def write_all(fd: int, data: bytes) -> bool:
    """Write all of `data` to a pipe. False when the reader went away first."""
    os.set_blocking(fd, False)
    loop = asyncio.get_running_loop()
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest[: 1024 * 1024]) :]
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_writer(fd, _resolve, ready)
            try:
                await ready
            finally:
                loop.remove_writer(fd)
        except BrokenPipeError:
            return False
    return True


def open_terminal(columns: int, rows: int) -> tuple[int, int]:
    """A new pseudo-terminal of that size, as (engine's side, program's side)."""
    return sized_terminal(*os.openpty(), columns, rows)


def sized_terminal(ours: int, theirs: int, columns: int, rows: int) -> tuple[int, int]:
    """The two sides of a terminal, given that size."""
    import termios

    termios.tcsetwinsize(theirs, (rows, columns))
    return ours, theirs


class OpenEnds:
    """Descriptors that are to be closed once, whatever happens between."""

    def __init__(self) -> None:
        self._fds: set[int] = set()

    def pipe(self) -> tuple[int, int]:
        """A new pipe, as (reading end, writing end), both held here."""
        pair = os.pipe()
        self._fds.update(pair)
        return pair

    def hold(self, fd: int) -> int:
        """Hold one more descriptor."""
        self._fds.add(fd)
        return fd

    def give(self, fd: int) -> int:
        """Let go of a descriptor that somebody else closes from now on."""
        self._fds.discard(fd)
        return fd

    def close(self, *fds: int) -> None:
        """Close these, or all that are held."""
        for fd in fds or tuple(self._fds):
            if fd in self._fds:
                self._fds.discard(fd)
                with contextlib.suppress(OSError):
                    os.close(fd)
