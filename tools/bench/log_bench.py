"""How many durable appends a second, against other logs and databases: ratios in one run.

    python tools/bench/log_bench.py [--appends N] [--rounds N]

Every rate is the median of some rounds in which the systems take turns on the same disk: a fixed number of
appends, shared evenly by all producers, until the last one is acknowledged. "Producers" are what a run has: trials
in the engine's one process, here tasks of one event loop (threads, for the systems without an asynchronous
client). "Processes" are separate processes with one producer each.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lines import Line, against, printed  # noqa: E402
from peers import HEMRA, NATS, SQLITE, TITLES, available, client_paths, install, started  # noqa: E402


class Cell(NamedTuple):
    """One measurement: producer processes, producers in each, events a batch."""

    title: str
    processes: int
    at_once: int
    batch: int


#: What must be reached against SQLite, by the title of the cell.
TARGETS = {"16 producers": 10.0, "64 producers": 10.0}
#: What must be reached against the fastest of all others.
TARGET_BEST = 0.5
#: Producers that hand over what they have, against SQLite's one-event appends.
TARGET_HANDED_OVER = 10.0
CELLS = (
    Cell("1 producer", 1, 1, 1),
    Cell("16 producers", 1, 16, 1),
    Cell("64 producers", 1, 64, 1),
    Cell("16 producers, batches of 10", 1, 16, 10),
    Cell("16 producers, batches of 100", 1, 16, 100),
    Cell("64 producers, batches of 10", 1, 64, 10),
    Cell("1 producer, batches of 10", 1, 1, 10),
    Cell("1 producer, batches of 100", 1, 1, 100),
    Cell("16 processes", 16, 1, 1),
    Cell("64 processes", 64, 1, 1),
    Cell("16 processes, batches of 10", 16, 1, 10),
    Cell("16 processes, batches of 100", 16, 1, 100),
)


def rate(system: str, cell: Cell, appends: int, folder: Path) -> float:
    """Acknowledged durable events a second of all producers together, `appends` batches between them."""
    batches = max(1, appends // cell.processes // cell.at_once)
    with started(system, folder) as address, contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(
                producer(system, address, "--batch", str(cell.batch), "--batches", str(batches),
                         "--at-once", str(cell.at_once), "--seed", str(n))
            )
            for n in range(cell.processes)
        ]  # fmt: skip
        for worker in workers:
            wait_ready(worker)
        begin = time.monotonic()
        for worker in workers:
            go(worker)
        counts = [finished(worker)[0] for worker in workers]
        elapsed = time.monotonic() - begin
    return sum(counts) / elapsed


def producer(system: str, address: str, *options: str) -> subprocess.Popen[str]:
    """A producer process, see `log_producer`."""
    argv = [sys.executable, str(Path(__file__).with_name("log_producer.py")), system, address, *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *client_paths()])}
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


def wait_ready(worker: subprocess.Popen[str]) -> None:
    """Return when it is ready to append."""
    assert worker.stdout is not None
    if worker.stdout.readline() != "ready\n":
        raise SystemExit(f"{worker.args!r} did not start")


def go(worker: subprocess.Popen[str]) -> None:
    """Have it begin."""
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def finished(worker: subprocess.Popen[str]) -> tuple[int, list[float]]:
    """Acknowledged events and, where they were asked for, seconds of each append."""
    assert worker.stdout is not None
    count, times = json.loads(worker.stdout.readline())
    return count, times


def cell_rates(cell: Cell, systems: list[str], appends: int, rounds: int, folder: Path) -> dict[str, float]:
    """Median events a second of each system."""
    rates: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            # JetStream acknowledges each event by itself: a batch is no cheaper for it than its events.
            fewer = cell.batch if system == NATS else 1
            rates[system].append(rate(system, cell, max(cell.at_once, appends // fewer), folder))
    return {system: statistics.median(found) for system, found in rates.items()}


def append_lines(appends: int, rounds: int, folder: Path, systems: list[str]) -> list[Line]:
    """Durable appends of every cell against every other system."""
    lines, single = [], {}
    for cell in CELLS:
        # 64 processes that each hold a server's connection say more about the machine than about the log.
        others = [s for s in systems if cell.processes == 1 or s not in (NATS,)]
        rates = cell_rates(cell, others, appends if cell.batch == 1 else appends // 4, rounds, folder)
        ours = rates.pop(HEMRA)
        best = max(rates, key=lambda system: rates[system])
        what = f"durable events/s, {cell.title}"
        if cell.batch == 1:
            single[cell.processes * cell.at_once] = rates[SQLITE]
        for system, other in rates.items():
            target = TARGETS.get(cell.title) if system == SQLITE else None
            if system == best and cell.title in TARGETS and target is None:
                target = TARGET_BEST
            lines.append(against(what, ours, other, TITLES[system], target=target))
        if cell.batch > 1 and cell.processes == 1 and cell.at_once > 1:
            name = "SQLite WAL FULL, one event a commit"
            lines.append(against(what, ours, single[cell.at_once], name, target=TARGET_HANDED_OVER))
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--appends", type=int, default=8_000, help="appends of one measurement, by all producers"
    )
    parser.add_argument("--rounds", type=int, default=3, help="measurements of which the median counts")
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    install()
    printed(
        "log-bench",
        options.folder,
        lambda folder: append_lines(options.appends, options.rounds, folder, available()),
    )


if __name__ == "__main__":
    main()
