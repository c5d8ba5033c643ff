"""The same 1,000 samples of 50 events through HEMRA's log and through Inspect AI's eval log.

    python tools/bench/log_inspect.py [--samples N] [--events N]

Inspect AI comes from PyPI into `.tools/inspect-venv`. Its eval does more than record (it schedules and scores the
samples); HEMRA's side is the log alone: a task a sample, all in one event loop, each event emitted, the last one
of a sample appended, so that every sample is on disk before it counts as finished.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402
from lines import Line, against, printed  # noqa: E402
from log_payload import payloads  # noqa: E402

from eventlog.client import Client  # noqa: E402
from eventlog.lock import NAME as LOCK  # noqa: E402
from eventlog.lock import holder  # noqa: E402
from eventlog.schemas.conversation import ToolReturned  # noqa: E402
from eventlog.store import Store  # noqa: E402

VENV = ROOT / ".tools" / "inspect-venv"
SIZE = 600
#: Samples under way at once.
JOBS = 16


def inspect(samples: int, events: int) -> list[float]:
    """Inspect's events a second, bytes an event, processor seconds, and memory in MB."""
    if not VENV.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        install = [VENV / "bin" / "python", "-m", "pip", "install", "-q", "inspect-ai"]
        subprocess.run(install, check=True, stdout=sys.stderr)
    script = str(Path(__file__).with_name("inspect_eval.py"))
    done = subprocess.run(
        [str(VENV / "bin" / "python"), script, str(samples), str(events), str(SIZE)],
        check=True, capture_output=True, text=True, env={**os.environ, "INSPECT_LOG_LEVEL": "error"},
    )  # fmt: skip
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def hemra(folder: Path, samples: int, events: int) -> list[float]:
    """The same figures of HEMRA's client and recorder together."""
    for index in range(samples):
        payloads(index, events, SIZE)
    store = Store.open(folder / "store", create=True)
    client = Client.connect(store, "bench", source="bench", create=True)
    recorder = psutil.Process(holder(store.stream_path("bench") / LOCK) or 0)
    own = psutil.Process()

    def cpu() -> float:
        return float(sum(own.cpu_times()[:2]) + sum(recorder.cpu_times()[:2]))

    async def sample(index: int, room: asyncio.Semaphore) -> None:
        async with room:
            *most, last = (
                ToolReturned(call=f"{index}-{p['step']}", name=p["tool"], ok=p["exit_code"] == 0, result=p)
                for p in payloads(index, events, SIZE)
            )
            for event in most:
                client.emit(event, trial=f"{index:05d}")
            await client.append_async(last, trial=f"{index:05d}")

    async def everything() -> None:
        room = asyncio.Semaphore(JOBS)
        await asyncio.gather(*(sample(index, room) for index in range(samples)))

    begin, before = time.perf_counter(), cpu()
    asyncio.run(everything())
    took, spent = time.perf_counter() - begin, cpu() - before
    rss = (own.memory_info().rss + recorder.memory_info().rss) / 1e6
    client.finish()
    client.close()
    size = sum(f.stat().st_size for f in store.stream_path("bench").glob("*.zst"))
    return [samples * events / took, size / samples / events, spent, rss]


def inspect_lines(folder: Path, samples: int, events: int) -> list[Line]:
    """Both, line by line."""
    ours, theirs = hemra(folder, samples, events), inspect(samples, events)
    what, name = f"{samples:,} samples of {events} events", "Inspect AI eval log"
    return [
        against(f"{what}: events/s", ours[0], theirs[0], name),
        against(f"{what}: bytes an event", ours[1], theirs[1], name, digits=0),
        against(f"{what}: processor seconds", ours[2], theirs[2], name, digits=1),
        against(f"{what}: memory, MB", ours[3], theirs[3], name, digits=0),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--events", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    printed(
        "log-inspect", options.folder, lambda folder: inspect_lines(folder, options.samples, options.events)
    )


if __name__ == "__main__":
    main()
