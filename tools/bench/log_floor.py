"""What a durable append by sixteen producers costs where nothing of a log is left: bare loops in Python.

    python tools/bench/log_floor.py [--cycles N]

Sixteen tasks of one event loop append again and again; what they append in a round goes out as one request over a
socket. A process of its own reads it, writes, syncs and answers. Three amounts of work: none but that; each event is
encoded as ours are; its line is checked and compressed too. Waiting is done asleep, or awake.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lines import host  # noqa: E402
from log_producer import _line  # noqa: E402
from log_workload import Workload  # noqa: E402

from eventlog.bus_messages import pack_append, unpack_request  # noqa: E402
from eventlog.envelope import with_seq  # noqa: E402

PRODUCERS = 16
BARE, ENCODED, CHECKED = "bare", "encoded", "checked"
WORK = {
    BARE: "nothing but the echo, the write and the sync",
    ENCODED: "and encoding",
    CHECKED: "and the check of each line and zstd",
}
_SIZE = struct.Struct(">Q")
_ANSWER = bytes(40)
#: Bytes of a group of ours on disk, about.
_GROUP = 2000


def serve(folder: Path, work: str, *, awake: bool) -> None:
    """Answer one peer's requests, each after its bytes are on disk, until it goes."""
    import zstandard

    compress = zstandard.ZstdCompressor(level=1, write_checksum=True).compress
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "s"))
    listener.listen(1)
    print("ready", flush=True)
    peer, _ = listener.accept()
    peer.setblocking(not awake)
    fd = os.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    received = b""
    while True:
        with contextlib.suppress(BlockingIOError):
            piece = peer.recv(65536)
            if not piece:
                return
            received += piece
        if len(received) < _SIZE.size or len(received) < _SIZE.size + _SIZE.unpack_from(received)[0]:
            continue
        body, received = received[_SIZE.size :], b""
        if work == CHECKED:
            lines = unpack_request(body).lines
            body = compress(b"\n".join([with_seq(line, seq) for seq, line in enumerate(lines, 1)]) + b"\n")
        os.write(fd, body[:_GROUP] if work != CHECKED else body)
        os.fdatasync(fd)
        peer.sendall(_ANSWER)


class _Producers:
    """The sixteen tasks and what they share."""

    def __init__(self, peer: socket.socket, work: str, *, awake: bool) -> None:
        self._peer, self._awake, self._encodes = peer, awake, work != BARE
        self._events = list(Workload(0).events(2000))
        self._lines = [_line(event) for event in self._events]
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[asyncio.Future[None], bytes]] = []
        self._flying: list[asyncio.Future[None]] = []
        self._loop.add_reader(peer.fileno(), self._answered)

    def _append(self, index: int) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        line = _line(self._events[index]) if self._encodes else self._lines[index]
        self._waiting.append((future, line))
        if len(self._waiting) == 1:
            self._loop.call_soon(self._send)
        return future

    def _send(self) -> None:
        self._flying = [future for future, _ in self._waiting]
        body = pack_append(bytes(16), 1, [line for _, line in self._waiting])
        self._waiting = []
        self._peer.sendall(_SIZE.pack(len(body)) + body)
        if self._awake:
            self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        if self._flying:
            self._loop.call_soon(self._go_round)

    def _answered(self) -> None:
        self._peer.recv(65536)
        answered, self._flying = self._flying, []
        for future in answered:
            future.set_result(None)

    async def run(self, cycles: int) -> float:
        """Seconds that `cycles` appends of each take."""

        async def produce(producer: int) -> None:
            for number in range(cycles):
                await self._append((producer * 97 + number) % len(self._events))

        begun = time.perf_counter()
        await asyncio.gather(*(produce(producer) for producer in range(PRODUCERS)))
        return time.perf_counter() - begun


def cycle_s(folder: Path, work: str, cycles: int, *, awake: bool) -> float:
    """Seconds of one cycle, in which each producer appends once."""
    argv = [sys.executable, __file__, "--serve", str(folder), "--work", work, *(["--awake"] if awake else [])]
    server = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()

    async def measured() -> float:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(folder / "s"))
            peer.setblocking(False)
            seconds = await _Producers(peer, work, awake=awake).run(cycles)
            asyncio.get_running_loop().remove_reader(peer.fileno())
            return seconds

    seconds = asyncio.run(measured())
    server.wait(30)
    (folder / "s").unlink()
    return seconds / cycles


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cycles", type=int, default=2000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--work", choices=WORK, default=BARE, help=argparse.SUPPRESS)
    parser.add_argument("--awake", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.work, awake=options.awake)
        return
    folder = Path(tempfile.mkdtemp(prefix="log-floor-"))
    try:
        print(f"{host(folder)}\n")
        print(
            "| a cycle of 16 | who waits sleeps, ms | stays awake, ms | events/s, awake |\n|---|---:|---:|---:|"
        )
        for work, title in WORK.items():
            asleep, awake = (cycle_s(folder, work, options.cycles, awake=flag) for flag in (False, True))
            print(f"| {title} | {1000 * asleep:.2f} | {1000 * awake:.2f} | {PRODUCERS / awake:,.0f} |")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
