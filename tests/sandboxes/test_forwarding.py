"""The way from a trial to a service of this machine: quick, whole in both directions, and never more than it holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest

from hemra.sandboxes.base import Endpoint, Sandbox
from tests.sandboxes.escape.conftest import ISOLATING, sandbox_ref
from tests.sandboxes.escape.prison import PRELUDE, Prison

MOST_MS = 2.0
#: What may be on its way when nobody reads: buffers of the kernel's on every hop, and of whoever carries. Bytes.
HELD_BYTES = 32 << 20
_Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(params=ISOLATING)
def inside(request: pytest.FixtureRequest, tmp_path: Path) -> Prison:
    """Where the clients are."""
    made = Prison(sandbox_ref(request.param, request), tmp_path)
    made.build()
    return made


@dataclass
class Told:
    """What the service saw."""

    received: int = 0
    sent: int = 0
    most: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    there: asyncio.Event = field(default_factory=asyncio.Event)


@contextlib.asynccontextmanager
async def reached(prison: Prison, handle: _Handle) -> AsyncIterator[tuple[Sandbox, str, Endpoint]]:
    """A service, a trial that may reach it, and the code by which a client there connects to it."""

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await handle(reader, writer)
        writer.close()

    async with await asyncio.start_server(guarded, "127.0.0.1", 0) as server:
        endpoint = Endpoint(*server.sockets[0].getsockname()[:2])
        async with prison.trial(network="gateway", reach=(endpoint,)) as sandbox:
            there = sandbox.address(endpoint)
            yield (
                sandbox,
                f"def dial(): return socket.create_connection({(there.host, there.port)})\n",
                endpoint,
            )


_ASKING = """
import json
def timed(work):
    began = time.perf_counter(); work(); return (time.perf_counter() - began) * 1000
line = dial(); line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def again():
    line.sendall(b"x" * 99 + b"\\n"); line.recv(200)
def anew():
    with dial() as one: one.sendall(b"x" * 99 + b"\\n"); one.recv(200)
for work in (again, anew): work()
print(json.dumps([sorted(timed(work) for _ in range(150)) for work in (again, anew)]))
"""


def test_a_small_request_is_hardly_slower(inside: Prison) -> None:
    """What the way takes would be counted as the time that a model takes to answer."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()

    async def go() -> tuple[list[float], list[float]]:
        async with reached(inside, echo) as (sandbox, dial, endpoint):
            direct = f"def dial(): return socket.create_connection({(endpoint.host, endpoint.port)})\n"
            bare = await asyncio.create_subprocess_exec(
                sys.executable, "-c", PRELUDE + direct + _ASKING, stdout=subprocess.PIPE
            )
            without = json.loads((await bare.communicate())[0])
            through = json.loads((await inside.run(sandbox, dial + _ASKING)).stdout)
            return [low(each) for each in without], [low(each) for each in through]

    def low(times: list[float]) -> float:
        return statistics.quantiles(times, n=4)[0]  # other programs of this machine are not what is measured

    bare, through = asyncio.run(go())
    for what, before, after in zip(("on a connection", "with a new one"), bare, through, strict=True):
        print(f"{inside.ref}: a request {what}: {before:.2f} ms bare, {after:.2f} ms through")
        assert after - before < MOST_MS, what


def test_each_direction_ends_by_itself(inside: Prison) -> None:
    """Clients that end their request by closing one way would wait for ever, or lose the answer."""
    told = Told()

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind = await reader.readexactly(1)
        if kind == b"?":
            writer.write(str(told.received).encode())
            return
        if kind == b"2":  # the service's side ends first
            writer.write(b"first")
            writer.write_eof()
        told.received += (size := len(await reader.read(-1)))
        if kind == b"1":
            writer.write(str(size).encode())
            await writer.drain()

    code = """
def all_of(line):
    got = b""
    while piece := line.recv(65536): got += piece
    return got
one = dial(); one.sendall(b"1" + b"x" * 3_000_000); one.shutdown(socket.SHUT_WR); found(all_of(one).decode())
two = dial(); two.sendall(b"2"); found(all_of(two).decode()); two.sendall(b"y" * 2_000_000); two.close()
deadline, got = time.monotonic() + 20, b""
while got != b"5000000" and time.monotonic() < deadline:
    with dial() as line: line.sendall(b"?"); got = all_of(line)
found(got.decode())
"""

    async def go() -> list[str]:
        async with reached(inside, count) as (sandbox, dial, _):
            return (await inside.run(sandbox, dial + code)).lines

    assert asyncio.run(go()) == ["3000000", "first", "5000000"]


@pytest.mark.parametrize(
    "leave",
    [
        "line.close()",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0'); line.close()",
    ],
    ids=["closed", "killed", "reset"],
)
def test_a_client_that_goes_away_is_seen_at_once(inside: Prison, leave: str) -> None:
    """A model would go on generating, at somebody's cost, for a trial that is over."""

    async def think(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"thinking\n")
        await writer.drain()
        try:
            await reader.read()
        finally:
            told.gone.set()

    async def go() -> float:
        async with reached(inside, think) as (sandbox, dial, _):
            code = "line = dial(); line.sendall(b'?\\n'); line.recv(9); found(time.time())\n"
            stay = "; time.sleep(5)" if "kill" not in leave else ""
            running = asyncio.ensure_future(inside.run(sandbox, f"{dial}{code}{leave}{stay}"))
            await asyncio.wait_for(told.gone.wait(), 30)
            seen = time.time()
            await sandbox.stop()
            return seen - float((await running).lines[0])

    told = Told()
    assert asyncio.run(go()) < 1.0


def test_a_service_that_goes_away_is_seen_at_once(inside: Prison) -> None:
    """A harness would wait for its time limit instead of asking again."""

    async def vanish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    code = """
line = dial(); line.sendall(b"?\\n"); began = time.monotonic()
try: found(line.recv(1))
except ConnectionError: found(b"")
found(time.monotonic() - began < 1)
"""

    async def go() -> list[str]:
        async with reached(inside, vanish) as (sandbox, dial, _):
            return (await inside.run(sandbox, dial + code)).lines

    assert asyncio.run(go()) == ["b''", "True"]


def test_sixty_four_streams_at_once(inside: Prison) -> None:
    """One stream must not wait for another, whoever asked first."""
    told = Told()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = int(await reader.readline())
        told.most += 1
        if told.most == 64:
            told.there.set()
        await told.there.wait()  # none ends before all have begun
        for _ in range(20):
            writer.write(bytes([number]) * 10_000)
            await writer.drain()

    code = """
lines = [dial() for _ in range(64)]
for number, line in enumerate(lines): line.sendall(f"{number}\\n".encode())
for number, line in enumerate(lines):
    got = b""
    while piece := line.recv(65536): got += piece
    if got != bytes([number]) * 200_000: found((number, len(got)))
found("done")
"""

    async def go() -> list[str]:
        async with reached(inside, stream) as (sandbox, dial, _):
            return (await inside.run(sandbox, dial + code)).lines

    assert asyncio.run(go()) == ["done"]


def test_what_nobody_reads_is_held_back(inside: Prison) -> None:
    """A stream that its reader cannot keep up with would fill this machine's memory."""
    told = Told()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        while told.sent < 4 * HELD_BYTES:
            writer.write(b"x" * 65536)
            await writer.drain()
            told.sent += 65536

    code = """
line = dial(); line.sendall(b"?\\n"); found("asked"); time.sleep(30)
"""

    async def go() -> int:
        async with reached(inside, flood) as (sandbox, dial, _):
            running = asyncio.ensure_future(inside.run(sandbox, dial + code))
            before = -1
            while told.sent == 0 or told.sent != before:
                before = told.sent
                await asyncio.sleep(0.5)
            await sandbox.stop()
            await running
            return before

    assert asyncio.run(go()) < HELD_BYTES


def test_what_a_service_does_not_read_is_held_back(inside: Prison) -> None:
    """The same the other way round: a trial that sends all it can."""
    told = Told()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await told.gone.wait()

    code = """
line = dial(); line.setblocking(False); sent, last = 0, time.monotonic()
while time.monotonic() - last < 1 and sent < 1 << 28:
    try: sent += line.send(b"x" * 65536); last = time.monotonic()
    except BlockingIOError: time.sleep(0.01)
found(sent)
"""

    async def go() -> list[str]:
        async with reached(inside, deaf) as (sandbox, dial, _):
            out = await inside.run(sandbox, dial + code)
            told.gone.set()
            return out.lines

    (sent,) = asyncio.run(go())
    assert int(sent) < HELD_BYTES


@pytest.mark.parametrize(
    "program",
    [
        pytest.param([sys.executable, "-I", "-S", "-B", "forward.py"], id="python3"),
        pytest.param(["perl", "forward.pl"], id="perl", marks=pytest.mark.needs("perl")),
    ],
)
def test_either_forwarder_of_a_container_tells_an_end_at_once(tmp_path: Path, program: list[str]) -> None:
    """Which of the two carries a trial's connections depends on its image, and must not be seen otherwise."""
    *command, name = program
    (tmp_path / name).write_bytes(
        files("hemra.sandboxes").joinpath(name.replace("forward.", "docker_forward_inner.")).read_bytes()
    )
    os.mkfifo(tmp_path / "ready")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        service.bind(str(tmp_path / "0"))
        service.listen()
        forwarder = stack.enter_context(
            subprocess.Popen([*command, str(tmp_path / name), f"127.0.0.1:{port}={tmp_path / '0'}"])
        )
        stack.callback(forwarder.kill)
        assert (tmp_path / "ready").read_text(encoding="utf-8") == "ready\n"

        def connected() -> tuple[socket.socket, socket.socket]:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            there, _ = service.accept()
            for each in (client, stack.enter_context(there)):
                each.settimeout(1.0)
            return client, there

        client, there = connected()
        client.sendall(b"x" * 300_000)
        client.shutdown(socket.SHUT_WR)
        assert len(b"".join(iter(partial(there.recv, 65536), b""))) == 300_000
        there.sendall(b"answer")
        there.close()
        assert b"".join(iter(partial(client.recv, 100), b"")) == b"answer"

        client, there = connected()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        assert ended(there)

        client, there = connected()
        there.sendall(b"half an answer")
        there.close()
        assert client.recv(100) == b"half an answer"
        assert ended(client)


def ended(line: socket.socket) -> bool:
    """Whether the other side is gone, which is told within the line's time."""
    with contextlib.suppress(ConnectionError):
        return line.recv(1) == b""
    return True
