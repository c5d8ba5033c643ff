"""Runs in a container, by path: loopback ports there, connected to Unix sockets. Standard library only.

    python3 -I -S -B forward.py ADDRESS:PORT=SOCKET ...

It says `ready` into the FIFO of that name beside it once it listens everywhere.
"""

import asyncio
import os
import signal
import sys
from functools import partial


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One way, to its end."""
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def join(path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    others = []
    try:
        there, back = await asyncio.open_unix_connection(path)
        others = [back]
        await asyncio.gather(copy(reader, back), copy(there, writer))
    except OSError:
        pass  # one of them is gone, and so is the connection
    finally:
        for each in (writer, *others):
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
