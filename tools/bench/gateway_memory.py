"""What a harness that sends as much as it can at once takes of the gateway's memory, and what others notice of it.

    python tools/bench/gateway_memory.py [--requests N] [--only NAME]

Every line is a gateway of its own. One trial opens all its requests in the same instant while another makes one small
call after the other. Told is how far the gateway's process grew, how all requests ended, and how long the other
trial's calls took. On a machine with little memory ask for few: without bounds it is all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.bench.gateway_wire import Sink, connect  # noqa: E402 - the checkout beside this file is measured
from tools.bench.lines import percentile  # noqa: E402

MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """What is sent: the pieces of the body of the request of a number (each another, for nobody is answered who asks
    the same again and again), its headers, and MiB of the answer."""

    what: str
    body: Callable[[int], list[bytes]]
    headers: str = ""
    chunked: bool = False
    answer_mib: int = 0


def _first(number: int) -> bytes:
    return b'{"model":"test-model","stream":true,"messages":[{"role":"user","content":"%d' % number


def _values(number: int) -> list[bytes]:
    return [_first(number) + b'"}],"more":[' + b"[]," * (MIB // 3) + b"0]}"]


@cache
def _long() -> bytes:
    return gzip.compress(b"a" * (60 * MIB) + b'"}]}')


def _upload(number: int) -> list[bytes]:
    return [_first(number), *[b"a" * MIB] * 16, b'"}]}']


CASES = {
    "uploads": Case("bodies of 16 MiB", _upload),
    "chunked": Case("bodies of 16 MiB whose length is not told", _upload, chunked=True),
    "values": Case("bodies of 1 MiB, all of it empty lists", _values),
    "packed": Case(
        "bodies of 60 KiB, 60 MiB when unpacked",
        lambda number: [gzip.compress(_first(number)), _long()], "Content-Encoding: gzip\r\n",
    ),
    "answers": Case("answers of 8 MiB, kept for a cassette", lambda n: [_first(n) + b'"}]}'], answer_mib=8),
}  # fmt: skip


async def _serve(answer_mib: int) -> None:
    """Endpoint and gateway, until stdin ends: an endpoint of its own process would change nothing here but the time.
    Prints the gateway's port first, MiB by which the process grew last."""
    from eventlog.schemas.runs import Limits
    from hemra.gateway.channel import ChannelSpec, ResolvedUpstream
    from hemra.gateway.normal import SamplingWish
    from hemra.gateway.server import Gateway

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Sink(answer_mib * MIB), "127.0.0.1", 0)
    gateway = await Gateway.start()
    for trial in ("greedy", "other"):
        gateway.admit(
            ChannelSpec(
                trial=trial, token=trial, model="test-model", limits=Limits(), sampling=SamplingWish(),
                upstream=ResolvedUpstream(base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"),
                emit=lambda _: None, blob=(lambda body: str(len(body))) if answer_mib else None,
            )
        )  # fmt: skip
    before = _peak_mib()
    print(gateway.endpoint.port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(_peak_mib() - before, flush=True)
    await gateway.close()
    server.close()


def _peak_mib() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


async def _ask(port: int, trial: str, case: Case, pieces: list[bytes]) -> str:
    """One request on a connection of its own; its status, or what became of it. Waits for room as the gateway does."""
    reader, writer = await connect(port)
    size = sum(map(len, pieces))
    told = "Transfer-Encoding: chunked" if case.chunked else f"Content-Length: {size}"
    head = (
        f"POST /t/{trial}/v1/chat/completions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {trial}\r\n"
        f"Content-Type: application/json\r\n{case.headers}{told}\r\nConnection: close\r\n\r\n"
    )
    try:
        writer.write(head.encode())
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if case.chunked else piece)
            await writer.drain()
        writer.write(b"0\r\n\r\n" if case.chunked else b"")
        status = await reader.readline()
        while await reader.read(MIB):
            pass
    except ConnectionError as error:
        return type(error).__name__
    finally:
        writer.close()
    return status.decode().split(" ")[1] if status else "nothing"


async def _measure(port: int, case: Case, requests: int) -> tuple[Counter[str], list[float], float]:
    """(how the requests ended, milliseconds of the other trial's calls, seconds)."""
    small = Case("", lambda _: [])
    others: list[float] = []
    ended: Counter[str] = Counter()
    begun = time.perf_counter()
    greedy = asyncio.gather(*(_ask(port, "greedy", case, case.body(number)) for number in range(requests)))
    while not greedy.done():
        asked = time.perf_counter()
        said = json.dumps({"model": "test-model", "messages": [{"role": "user", "content": str(asked)}]})
        ended[f"other {await _ask(port, 'other', small, [said.encode()])}"] += 1
        others.append((time.perf_counter() - asked) * 1e3)
        await asyncio.sleep(0.02)
    return ended + Counter(await greedy), others, time.perf_counter() - begun


def _row(name: str, requests: int) -> str:
    case = CASES[name]
    arguments = [sys.executable, __file__, "--serve", str(case.answer_mib)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        ended, others, seconds = asyncio.run(_measure(port, case, requests))
        process.stdin.close()
        grown = process.stdout.readline().strip()
    ends = ", ".join(f"{count} x {how}" for how, count in sorted(ended.items()))
    mib = f"{float(grown):.0f}" if grown else f"killed: {process.returncode}"
    p50, latest = percentile(others, 0.5), max(others)
    return f"| {requests} {case.what} | {mib} | {ends} | {p50:.0f} | {latest:.0f} | {seconds:.1f} |"


def main() -> int:
    """Print the table; the exit code says nothing about the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve is not None:
        asyncio.run(_serve(asked.serve))
        return 0
    print("| at once | grown by, MiB | ended | another trial's call, p50, ms | latest, ms | s |")
    print("|---|---:|---|---:|---:|---:|")
    for name in [asked.only] if asked.only else CASES:
        print(_row(name, asked.requests), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
