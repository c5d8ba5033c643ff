"""How long an append waits for its acknowledgement, and an event for a subscriber, at a steady rate.

    python tools/bench/log_latency.py [--rate N] [--seconds N]

Sixteen producers of one process append one event at a time, together `--rate` a second, each at its own
moments; the seconds from append to acknowledgement are those of the producers. A subscriber, a process of
its own, takes each event as it comes and compares its `mono` with the same clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lines import Line, against, percentile, printed, sync_times  # noqa: E402
from log_bench import finished, go, producer, wait_ready  # noqa: E402
from peers import HEMRA, JSONL, SQLITE, TITLES, available, client_paths, install, started  # noqa: E402

PRODUCERS = 16
#: The p99 of an acknowledgement must stay under this many fdatasyncs.
TARGET_SYNCS = 3.0


def measured(system: str, rate: int, seconds: int, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds from append to acknowledgement, and from append to a subscriber (none for a file)."""
    each = rate / PRODUCERS
    batches = int(each * seconds)
    with started(system, folder) as address:
        subscriber = None if system in (SQLITE, JSONL) else _subscriber(system, address, batches * PRODUCERS)
        options = ("--at-once", PRODUCERS, "--rate", each, "--batches", batches, "--latencies")
        with producer(system, address, *map(str, options)) as worker:
            wait_ready(worker)
            go(worker)
            _, appended = finished(worker)
        seen: list[float] = []
        if subscriber is not None:
            out, _ = subscriber.communicate(timeout=60)
            seen = json.loads(out)
    # The first half second is everyone's warm-up.
    skip = rate // 2
    return appended[skip:], seen[skip:]


def _subscriber(system: str, address: str, count: int) -> subprocess.Popen[str]:
    argv = [sys.executable, str(Path(__file__).with_name("log_subscriber.py")), system, address, str(count)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *client_paths()])}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise SystemExit(f"{argv!r} did not start")
    return process


def latency_lines(rate: int, seconds: int, folder: Path, systems: list[str]) -> list[Line]:
    """Percentiles of every system beside ours, in milliseconds."""
    syncs = [1000 * value for value in sync_times(folder, 3000)]
    found = {system: measured(system, rate, seconds, folder) for system in systems}
    acknowledged, seen = ([1000 * value for value in values] for values in found.pop(HEMRA))
    p99 = percentile(acknowledged, 0.99)
    name = "p99 of an fdatasync"
    lines = [
        against(f"append to acknowledgement at {rate:,}/s, p99, ms", p99, percentile(syncs, 0.99), name,
                target=TARGET_SYNCS, at_most=True, digits=2),
        against(f"append to acknowledgement at {rate:,}/s, p50, ms", statistics.median(acknowledged),
                statistics.median(syncs), "p50 of an fdatasync", digits=2),
    ]  # fmt: skip
    for what, ours, index in (("acknowledgement", acknowledged, 0), ("subscriber", seen, 1)):
        for system, both in found.items():
            theirs = [1000 * value for value in both[index]]
            for share, title in ((0.5, "p50"), (0.99, "p99")):
                if theirs:
                    lines.append(
                        against(f"append to {what} at {rate:,}/s, {title}, ms", percentile(ours, share),
                                percentile(theirs, share), TITLES[system], digits=2)
                    )  # fmt: skip
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=5000, help="events a second of all producers together")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    install()
    printed(
        "log-latency",
        options.folder,
        lambda folder: latency_lines(options.rate, options.seconds, folder, available()),
    )


if __name__ == "__main__":
    main()
