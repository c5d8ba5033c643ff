"""How fast the log is, how small, and how fast it is read: ratios in one run, printed as one table.

    python tools/bench/log_bench.py [--events N] [--appends N] [--rounds N] [--json]

Every rate is the median of some rounds in which the systems take turns on the same disk: a fixed number of
appends, shared evenly by all producers, until the last one is acknowledged. Producers are separate
processes throughout (also at 64), except in the line that says threads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from log_workload import Workload  # noqa: E402

from eventlog.envelope import encode  # noqa: E402 - the checkout beside this file is measured
from eventlog.reader import read  # noqa: E402
from eventlog.segments import list_segments  # noqa: E402
from eventlog.store import Store  # noqa: E402
from eventlog.stream import Incoming, StreamWriter  # noqa: E402

SYSTEMS = ("hemra", "sqlite", "jsonl")
#: How the engine appends: its trials are tasks of one event loop. The other systems have threads in this line.
TASKS = "16 tasks of one event loop"
#: (title, producer processes, threads in each, events a batch)
CELLS = (
    ("1 producer", 1, 1, 1),
    ("16 producers", 16, 1, 1),
    ("64 producers", 64, 1, 1),
    ("16 threads of one process", 1, 16, 1),
    (TASKS, 1, 16, 1),
    ("1 producer, batches of 10", 1, 1, 10),
    ("1 producer, batches of 100", 1, 1, 100),
    ("16 producers, batches of 10", 16, 1, 10),
    ("16 producers, batches of 100", 16, 1, 100),
)


@dataclass(frozen=True)
class Line:
    """One line of the table; `target` is what `ratio` must reach (or stay under, with `at_most`)."""

    what: str
    ours: float
    other: float
    other_name: str
    unit: str
    ratio: float
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


def rate(system: str, cell: tuple[str, int, int, int], appends: int, folder: Path) -> float:
    """Acknowledged durable events a second of all producers together, `appends` batches between them."""
    _, processes, threads, batch = cell
    path = _prepare(system, folder)
    batches = appends // processes // threads
    argv = [sys.executable, str(Path(__file__).with_name("log_producer.py")), system, str(path),
            "--batch", str(batch), "--batches", str(batches), "--threads", str(threads)]  # fmt: skip
    if cell[0] == TASKS and system == "hemra":
        argv.append("--tasks")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    workers = [
        subprocess.Popen(
            [*argv, "--seed", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        for n in range(processes)
    ]
    with contextlib.ExitStack() as stack:
        for worker in workers:
            stack.enter_context(worker)
        for worker in workers:
            assert worker.stdout is not None
            if worker.stdout.readline() != "ready\n":
                raise SystemExit(f"a {system} producer did not start")
        begin = time.monotonic()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        counts = []
        for worker in workers:
            assert worker.stdout is not None
            counts.append(int(worker.stdout.readline()))
        elapsed = time.monotonic() - begin
    return sum(counts) / elapsed


def _prepare(system: str, folder: Path) -> Path:
    """An empty store, database or file."""
    path = Path(tempfile.mkdtemp(prefix=f"{system}-", dir=folder)) / system
    if system == "hemra":
        StreamWriter.open(Store.open(path, create=True), "bench", create=True).close()
    elif system == "sqlite":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, line TEXT NOT NULL)")
    else:
        path.touch()
    return path


def append_lines(appends: int, rounds: int, folder: Path) -> list[Line]:
    """Durable appends of every cell against SQLite and against JSONL."""
    lines = []
    for cell in CELLS:
        rates: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        for _ in range(rounds):
            for system in SYSTEMS:
                rates[system].append(rate(system, cell, appends, folder))
        median = {system: statistics.median(found) for system, found in rates.items()}
        for other, name in (("sqlite", "SQLite WAL FULL"), ("jsonl", "JSONL + fdatasync")):
            target = 5.0 if (cell[0], other) == ("16 producers", "sqlite") else None
            ratio = median["hemra"] / median[other]
            what = f"durable events/s, {cell[0]}"
            lines.append(Line(what, median["hemra"], median[other], name, "1/s", ratio, target))
    return lines


def corpus(folder: Path, events: int) -> tuple[Store, Path]:
    """A finished stream of `events` events, and the same NDJSON as one file compressed by `zstd -3`."""
    store = Store.open(folder / "corpus", create=True)
    number = 1
    clock = iter(range(1_790_000_000_000_000_000, 2**62, 850_000)).__next__
    with StreamWriter.open(store, "bench", create=True) as writer:
        pending: list[bytes] = []
        for data, trial in Workload(7).events(events):
            pending.append(encode(data, source="engine", trial=trial, blobs=None, wall=clock, mono=clock))
            if len(pending) == 50:
                writer.commit([Incoming(b"b" * 16, number, pending)])
                number += len(pending)
                pending = []
        if pending:
            writer.commit([Incoming(b"b" * 16, number, pending)])
        writer.finish()
    from eventlog.reader import read_lines

    ndjson = folder / "whole.ndjson"
    with ndjson.open("wb") as file:
        file.writelines(line + b"\n" for line in read_lines(store, "bench"))
    return store, _zstd(ndjson)


def _zstd(path: Path) -> Path:
    """`zstd -3 FILE`, by the command where it is installed."""
    out = path.with_suffix(".ndjson.zst")
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "-3", "-f", str(path), "-o", str(out)], check=True)
    else:
        import zstandard

        with path.open("rb") as source, out.open("wb") as target:
            zstandard.ZstdCompressor(level=3).copy_stream(source, target, size=path.stat().st_size)
    return out


def bare_loop(path: Path) -> int:
    """Decompress one file and parse every line with orjson: what any reader must do at least."""
    import io

    import orjson
    import zstandard

    count = 0
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_size=1 << 20) as raw:
        for line in io.BufferedReader(raw, 1 << 20):  # type: ignore[type-var]
            orjson.loads(line)
            count += 1
    return count


def size_and_read_lines(events: int, rounds: int, folder: Path) -> list[Line]:
    """Bytes an event when sealed, and reading everything."""
    store, whole = corpus(folder, events)
    sealed = sum(s.size for s in list_segments(store.stream_path("bench")))
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(max(3, rounds)):
        begin = time.perf_counter()
        count = sum(1 for _ in read(store, "bench"))
        times["ours"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        bare = bare_loop(whole)
        times["bare"].append(time.perf_counter() - begin)
        if not count == bare == events:
            raise SystemExit(f"read {count} and {bare} of {events} events")
    ours, theirs = (events / statistics.median(times[name]) for name in ("ours", "bare"))
    size = whole.stat().st_size
    return [
        Line("bytes an event, sealed", sealed / events, size / events, "one zstd -3 file", "B", sealed / size,
             1.05, at_most=True),
        Line("events/s, read all", ours, theirs, "bare zstd + orjson loop", "1/s", ours / theirs, 0.6),
    ]  # fmt: skip


def sync_ms(folder: Path) -> float:
    """Median milliseconds of one appended write with its fdatasync: what every rate here rests on.

    The slower it is, the more a group commit gains: where it is far below a millisecond, the processors decide.
    """
    times = []
    fd = os.open(folder / "sync", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for _ in range(300):
            begin = time.perf_counter()
            os.write(fd, bytes(500))
            os.fdatasync(fd)
            times.append(time.perf_counter() - begin)
    finally:
        os.close(fd)
    return statistics.median(times) * 1000


def table(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    rows = ["| what | hemra | other | | ratio | target |", "|---|---:|---:|---|---:|---|"]
    for line in lines:
        digits = 1 if line.unit == "B" else 0
        target = "" if line.target is None else f"{'<=' if line.at_most else '>='} {line.target:g}"
        mark = {None: "", True: " met", False: " **missed**"}[line.met]
        rows.append(
            f"| {line.what} | {line.ours:,.{digits}f} | {line.other:,.{digits}f} | {line.other_name} "
            f"| {line.ratio:.2f} | {target}{mark} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--events", type=int, default=200_000, help="events of the size and read measurements"
    )
    parser.add_argument(
        "--appends", type=int, default=8_000, help="appends of one measurement, by all producers"
    )
    parser.add_argument("--rounds", type=int, default=3, help="measurements of which the median counts")
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="log-bench-", dir=options.folder))
    try:
        sync = sync_ms(folder)
        lines = size_and_read_lines(options.events, options.rounds, folder)
        lines += append_lines(options.appends, options.rounds, folder)
    finally:
        shutil.rmtree(folder)
    host: dict[str, Any] = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "sync_ms": round(sync, 3),
    }
    if options.json:
        rows = [{**line.__dict__, "met": line.met} for line in lines]
        print(json.dumps({"schema": "hemra.bench.log/1", "host": host, "lines": rows}, indent=1))
    else:
        print(f"{host['system']}, {host['cpus']} CPUs, Python {host['python']}, fdatasync {sync:.2f} ms\n")
        print(table(lines))


if __name__ == "__main__":
    main()
