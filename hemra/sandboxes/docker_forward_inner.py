"""Runs in a container, by path: loopback ports there, connected to Unix sockets. Standard library only.

    python3 -I -S -B forward.py ADDRESS:PORT=SOCKET ...

It says `ready` into the FIFO of that name beside it once it listens everywhere.
"""

import asyncio
import os
import signal
import socket
import struct
import sys
from functools import partial

AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: closing tells the other end that the connection was reset


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One way, to its end."""
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def join(path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    ends = [writer]
    ways = []
    try:
        there, back = await asyncio.open_unix_connection(path)
        ends.append(back)
        ways = [asyncio.ensure_future(copy(reader, back)), asyncio.ensure_future(copy(there, writer))]
        await asyncio.gather(*ways)
    except OSError:  # one of them is gone, and so is the connection
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        for each in ends:
            each.transport.abort()
    finally:
        for way in ways:
            way.cancel()
        for each in ends:
            each.close()


async def main() -> None:
    """For ever."""
    servers = []
    for word in sys.argv[1:]:
        where, _, path = word.partition("=")
        address, _, port = where.rpartition(":")
        servers.append(await asyncio.start_server(partial(join, path), address, int(port)))
    with open(os.path.join(os.path.dirname(sys.argv[0]), "ready"), "w", encoding="ascii") as ready:
        ready.write("ready\n")
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    asyncio.run(main())
