"""Lets a trial reach chosen services from a network namespace that has no other way out.

The trial's side is a listening socket that was made in its namespace; this process accepts what connects to it and
carries the bytes to the service and back.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
from collections.abc import Sequence

from hemra.sandboxes.base import Endpoint

CHUNK_BYTES = 64 * 1024
CONNECT_SECONDS = 10.0
#: Ports below need a privilege that programs of a trial do not have.
FIRST_FREE_PORT = 1024
_INSIDE = "127.0.0.1"
#: SO_LINGER, on, no time: closing tells the other end that the connection was reset.
_AT_ONCE = struct.pack("ii", 1, 0)


def places(endpoints: Sequence[Endpoint]) -> dict[Endpoint, Endpoint]:
    """Where each endpoint is to be listened for inside: at its own address where that is a loopback address and the
    port is one that anybody may use, else at a free port of 127.0.0.1."""
    chosen: dict[Endpoint, Endpoint] = {}
    for endpoint in endpoints:
        host = endpoint.host if _is_loopback(endpoint.host) else _INSIDE
        port = endpoint.port if endpoint.port >= FIRST_FREE_PORT else 20_000 + endpoint.port
        taken = {(place.host, place.port) for place in chosen.values()}
        while (host, port) in taken:
            port = port + 1 if port < 65_535 else 20_000
        chosen[endpoint] = Endpoint(host, port)
    return chosen


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name: it may mean several addresses, and none of them needs to be known inside


class Forwarder:
    """Carries what connects to listening sockets to endpoints of this machine."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, listener: socket.socket, endpoint: Endpoint) -> None:
        """Accept on `listener`, which is this object's from now on."""

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._carry(reader, writer, endpoint))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._servers.append(await asyncio.start_server(connected, sock=listener, limit=CHUNK_BYTES))

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, endpoint: Endpoint
    ) -> None:
        """One connection, until both sides have said all. A service that is not there closes it."""
        with contextlib.closing(writer):
            try:
                there_reader, there_writer = await asyncio.wait_for(
                    asyncio.open_connection(endpoint.host, endpoint.port, limit=CHUNK_BYTES), CONNECT_SECONDS
                )
            except (OSError, TimeoutError):
                return
            ways = [
                asyncio.ensure_future(_pump(*way)) for way in ((reader, there_writer), (there_reader, writer))
            ]
            with contextlib.closing(there_writer):
                try:
                    await asyncio.gather(*ways)
                except OSError:
                    for each in (writer, there_writer):
                        _reset(each)
                finally:
                    for way in ways:
                        way.cancel()

    async def close(self) -> None:
        """End every connection and close the listening sockets."""
        for server in self._servers:
            server.close()
        self._servers = []
        for task in (tasks := tuple(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry one direction to its end, and pass the end on. OSError when either side is gone without one."""
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Let the other end know at once that there is nobody any more; an orderly end would say that all was said."""
    taken: socket.socket = writer.get_extra_info("socket")
    if taken.family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    writer.transport.abort()
