"""What the model gateway adds: to small calls, to the first token, and to every token of 64 streams at once.

    python tools/bench/gateway.py [--calls N] [--rounds N] [--streams N] [--seconds S]

Endpoint, gateway and client are a process each; direct and through the gateway take turns. Small calls and first
tokens are asked of the scripted model server. The streams come from a metronome that writes into each token when it
should be sent: what is told is how much later than that it arrived, so that a slow sender counts on both ways.
Everything is recorded as in a run, into memory. Bodies are compared by hash. The bare relay hands bytes on and does
nothing else: what of the gateway's cost is that of any process in between.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hemra.gateway.server import Gateway

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.bench.gateway_wire import RATE, Client, Got, Metronome, Relay  # noqa: E402
from tools.bench.lines import host, percentile  # noqa: E402 - the checkout beside this file is measured

#: Milliseconds that the gateway may add to a small call at its median, and to any token of a stream.
SMALL_MS, TOKEN_MS = 2.0, 5.0
TRIALS = 256
SCRIPT = "turns: [{text: A short answer of a few words.}]"


async def _serve_plain(make: Callable[[], asyncio.Protocol]) -> int:
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


# --- the gateway under test


async def _serve_gateway(base: str) -> Gateway:
    from eventlog.schemas.runs import Limits
    from hemra.gateway.channel import ChannelSpec, ResolvedUpstream
    from hemra.gateway.normal import SamplingWish
    from hemra.gateway.server import Gateway

    gateway = await Gateway.start()
    for number in range(TRIALS):
        kept: list[object] = []
        spec = ChannelSpec(
            trial=str(number), token=f"token-{number}", model="test-model", limits=Limits(),
            upstream=ResolvedUpstream(base_url=base, key="dummy"), sampling=SamplingWish(), emit=kept.append,
        )  # fmt: skip
        gateway.admit(spec)
    return gateway


async def _serve(role: str, base: str) -> None:
    """Gateway, metronome or bare relay, until SIGTERM. Prints its port first, the CPU seconds that it used last."""
    gateway = await _serve_gateway(base) if role == "gateway" else None
    if gateway is not None:
        print(gateway.endpoint.port, flush=True)
    else:
        port = int(base.rpartition(":")[2] or 0)
        print(await _serve_plain(partial(Relay, port) if role == "relay" else Metronome), flush=True)
    begun = time.process_time()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    print(time.process_time() - begun, flush=True)
    if gateway is not None:
        await gateway.close()


@dataclass
class Served:
    """A process of this file: its port, and the CPU seconds that it used, once it has ended."""

    port: int
    cpu_s: float = 0.0


@contextmanager
def _started(role: str, base: str = "") -> Iterator[Served]:
    """A process of this file, until the block ends."""
    arguments = [sys.executable, __file__, "--role", role, "--base", base]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        served = Served(int(process.stdout.readline()))
        try:
            yield served
        finally:
            process.terminate()
            served.cpu_s = float(process.stdout.readline() or 0)


@contextmanager
def _scripted() -> Iterator[int]:
    """The scripted model server; its port."""
    with tempfile.TemporaryDirectory(prefix="hemra-bench-") as folder:
        script = Path(folder) / "script.yaml"
        script.write_text(SCRIPT, encoding="utf-8")
        arguments = [sys.executable, "-m", "tools.model_server", "--script", str(script)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            try:
                assert process.stdout is not None
                yield int(json.loads(process.stdout.readline())["port"])
            finally:
                process.terminate()


# --- the client


async def _connect(port: int, stamps: bool = False) -> Client:
    _, client = await asyncio.get_running_loop().create_connection(lambda: Client(stamps), "127.0.0.1", port)
    return client


@dataclass(frozen=True)
class Way:
    """A way to the endpoint: a port, and whether the gateway stands there."""

    port: int
    gateway: bool

    def path(self, trial: int) -> str:
        """What stands before `/v1`."""
        return f"/t/{trial}" if self.gateway else ""


async def _small(way: Way, calls: int, start: int, stream: bool) -> list[Got]:
    """One call after the other on one connection, each a conversation of its own."""
    client = await _connect(way.port)
    found = []
    for number in range(start, start + calls):
        said = [{"role": "user", "content": f"Question {number}"}]
        trial = number % TRIALS
        found.append(
            await client.ask(
                way.path(trial), f"token-{trial}", messages=said, stream=stream, user=str(number)
            )
        )
    return found


async def _streams(way: Way, streams: int, tokens: int, number: int) -> list[Got]:
    """All at once, not begun in the same instant."""

    async def one(trial: int) -> Got:
        client = await _connect(way.port, stamps=True)
        await asyncio.sleep(trial / streams / RATE)
        said = [{"role": "user", "content": f"Round {number}"}]
        return await client.ask(
            way.path(trial), f"token-{trial}", messages=said, stream=True, max_tokens=tokens
        )

    return list(await asyncio.gather(*(one(trial) for trial in range(streams))))


# --- the figures


@dataclass(frozen=True)
class Row:
    """A figure, by way: `direct`, `gateway`, and `relay` where a bare relay was measured too; null where there is none.
    `most` is what the gateway may add."""

    what: str
    ways: dict[str, float]
    most: float | None = None

    def __str__(self) -> str:
        cells = [
            f"{self.ways[way]:.2f}" if way in self.ways else "—" for way in ("direct", "gateway", "relay")
        ]
        added, target = "—", ""
        if "direct" in self.ways:
            more = self.ways["gateway"] - self.ways["direct"]
            added = f"{more:+.2f}"
            if self.most is not None:
                target = f"<= {self.most:g} {'met' if more <= self.most else '**missed**'}"
        return f"| {self.what} | {cells[0]} | {cells[1]} | {added} | {target} | {cells[2]} |"


def _rows(what: str, found: dict[str, list[float]], shares: dict[str, float | None]) -> list[Row]:
    """A row for each share of the values; `shares` says what may be added."""
    names = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "latest": 1.0}
    return [
        Row(f"{what}, {name}, ms", {way: percentile(found[way], names[name]) for way in found}, most)
        for name, most in shares.items()
    ]


def _calls(calls: int, rounds: int) -> list[Row]:
    """Small calls, and the first bytes of streams."""
    rows = []
    with _scripted() as port, _started("gateway", f"http://127.0.0.1:{port}") as gateway:
        ways = {"direct": Way(port, False), "gateway": Way(gateway.port, True)}
        for stream, what in ((False, "small call"), (True, "first byte of a stream")):
            found: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(rounds + 1):
                for name, way in ways.items():
                    got = asyncio.run(_small(way, calls, (number * 2 + stream) * calls, stream))
                    if number:  # the first round warms up
                        found[name] += [each.first_ms if stream else each.whole_ms for each in got]
            rows += _rows(what, found, {"p50": SMALL_MS, "p99": None})
    per_call = gateway.cpu_s * 1000 / (2 * calls * (rounds + 1))
    return [*rows, Row("CPU for a call, ms", {"gateway": per_call})]


def _paced(streams: int, tokens: int, rounds: int) -> list[Row]:
    """How late tokens come when many streams run at once."""
    with ExitStack() as stack:
        port = stack.enter_context(_started("metronome")).port
        base = f"http://127.0.0.1:{port}"
        served = {role: stack.enter_context(_started(role, base)) for role in ("gateway", "relay")}
        ways = {"direct": Way(port, False)} | {
            role: Way(each.port, role == "gateway") for role, each in served.items()
        }
        late: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for name, way in ways.items():
                length = tokens if number else RATE // 4
                got = asyncio.run(_streams(way, streams, length, number))
                if any(len(each.late_ms) != length for each in got):
                    raise RuntimeError("tokens were lost on the way")
                if number:
                    late[name] += [ms for each in got for ms in each.late_ms]
    what = f"{streams} streams of {RATE} tokens/s, a token late by"
    rows = _rows(what, late, dict.fromkeys(("p50", "p99", "p99.9", "latest"), TOKEN_MS))
    every = streams * (tokens * rounds + RATE // 4)
    return [
        *rows,
        Row("CPU for a token, µs", {role: each.cpu_s * 1e6 / every for role, each in served.items()}),
    ]


def _identical() -> str:
    """Whether bodies are the same on both ways, for every dialect, streamed and not."""
    questions = {
        "chat/completions": {"messages": [{"role": "user", "content": "Hi"}]},
        "responses": {"input": "Hi"},
        "messages": {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    }
    same = 0
    with _scripted() as port, _started("gateway", f"http://127.0.0.1:{port}") as gateway:
        for place, question in questions.items():
            for stream in (False, True):
                body = json.dumps({"model": "test-model", "stream": stream, **question}).encode()
                hashes = []
                for where, token in ((port, "dummy"), (f"{gateway.port}/t/0", "token-0")):
                    forget = urllib.request.Request(f"http://127.0.0.1:{port}/_reset", method="POST")
                    urllib.request.urlopen(forget).close()
                    asked = urllib.request.Request(
                        f"http://127.0.0.1:{where}/v1/{place}", body, {"Authorization": f"Bearer {token}"}
                    )
                    with urllib.request.urlopen(asked) as answer:
                        hashes.append(hashlib.sha256(answer.read()).hexdigest())
                same += hashes[0] == hashes[1]
    return f"bodies identical by SHA-256: {same} of {2 * len(questions)} (three dialects, streamed and not)"


def main() -> int:
    """Print the table; the exit code says nothing about the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=400, help="small calls in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each stream")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--base", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.role:
        asyncio.run(_serve(asked.role, asked.base))
        return 0
    with tempfile.TemporaryDirectory(prefix="hemra-bench-") as folder:
        print(f"{host(Path(folder))}\n")
    print("| what | direct | gateway | added | target | bare relay |\n|---|---:|---:|---:|---|---:|")
    for row in _calls(asked.calls, asked.rounds):
        print(row, flush=True)
    for row in _paced(asked.streams, int(asked.seconds * RATE), asked.rounds):
        print(row)
    print(f"\n{_identical()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
