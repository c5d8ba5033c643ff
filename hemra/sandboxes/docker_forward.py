"""Services of this machine inside a container that has no way to them: loopback ports there, sockets between.

For each endpoint there is a Unix socket in a folder that is mounted into the container. Whoever connects to it is
connected to that endpoint, and to no other. In the container a forwarder listens at a loopback port and connects
to the socket: it is a convenience for programs that know TCP only, and holds no limit.
"""

from __future__ import annotations

import os
import socket
from importlib.resources import files
from pathlib import Path

from hemra.sandboxes.base import Endpoint
from hemra.sandboxes.forwarding import Forwarder, places

#: Programs of the container that forward, and where they are here. Process 1 takes the first that it can run.
FORWARDERS = {"forward.py": "docker_forward_inner.py", "forward.pl": "docker_forward_inner.pl"}


class Forwarding:
    """The sockets of one trial, in `folder`, which the container sees as `inside`."""

    def __init__(self, folder: Path, inside: str, endpoints: tuple[Endpoint, ...]) -> None:
        self._folder = folder
        self._inside = inside
        self._forwarder = Forwarder()
        self.addresses = places(endpoints)

    @property
    def words(self) -> list[str]:
        """What the container's forwarder is told: address:port=socket, one for each endpoint."""
        inner = self.addresses.values()
        return [f"{each.host}:{each.port}={self._inside}/{number}" for number, each in enumerate(inner)]

    async def open(self) -> None:
        """Make the sockets. OSError when the system refuses."""
        if not self.addresses:
            return
        for name, source in FORWARDERS.items():
            (self._folder / name).write_bytes(files("hemra.sandboxes").joinpath(source).read_bytes())
            (self._folder / name).chmod(0o644)
        os.mkfifo(self._folder / "ready")
        (self._folder / "ready").chmod(0o666)
        for number, endpoint in enumerate(self.addresses):
            await self._forwarder.add(_listen(self._folder, str(number)), endpoint)

    async def close(self) -> None:
        """Nobody gets through any more; no error when that was done."""
        await self._forwarder.close()


def _listen(folder: Path, name: str) -> socket.socket:
    """A socket in a folder whose path may be longer than the path of a socket."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(f"/proc/self/fd/{fd}/{name}")
        (folder / name).chmod(0o666)  # the folder above is closed to everybody else
        listening.listen(128)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(fd)
    return listening
