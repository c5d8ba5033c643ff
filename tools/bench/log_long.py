"""A stream of ten million events: opened, its end tailed, verified, without reading more than each needs.

python tools/bench/log_long.py [--events N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lines import Line, alone, printed  # noqa: E402
from log_workload import Workload  # noqa: E402

from eventlog.envelope import encode  # noqa: E402
from eventlog.reader import stream_state  # noqa: E402
from eventlog.store import Store  # noqa: E402
from eventlog.stream import Incoming, StreamWriter  # noqa: E402

BATCH = 2000
#: What a child does, prints and is measured by.
TAIL = """
import sys, time; from pathlib import Path
begin = time.perf_counter()
from eventlog.reader import read, stream_state; from eventlog.store import Store
store = Store.open(Path(sys.argv[1])); last = stream_state(store, "bench").last_seq
opened = time.perf_counter() - begin
events = list(read(store, "bench", start=last - 9))
assert [e.seq for e in events] == list(range(last - 9, last + 1))
print(opened, time.perf_counter() - begin - opened)
"""
VERIFY = """
import resource, sys, time; from pathlib import Path
from eventlog.store import Store; from eventlog.verify import verify
begin = time.perf_counter(); report = verify(Store.open(Path(sys.argv[1])))
assert report.ok and report.streams[0].events == int(sys.argv[2]), report
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
"""


def written(store: Store, count: int) -> float:
    """Seconds that writing and sealing the stream took."""
    source = cycle(list(Workload(5, 50).events(100_000)))
    begin = time.perf_counter()
    with StreamWriter.open(store, "bench", create=True) as writer:
        for first in range(1, count + 1, BATCH):
            some = islice(source, min(BATCH, count + 1 - first))
            lines = [encode(data, source="bench", trial=trial, blobs=None) for data, trial in some]
            writer.commit([Incoming(b"b" * 16, first, lines)])
        writer.finish()
    return time.perf_counter() - begin


def child(script: str, *arguments: str) -> list[float]:
    """The numbers that a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return [float(word) for word in done.stdout.split()]


def long_lines(folder: Path, count: int) -> list[Line]:
    """All figures of one long stream."""
    store = Store.open(folder / "long", create=True)
    took = written(store, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    opened, tailed = child(TAIL, str(store.path))
    verified, memory = child(VERIFY, str(store.path), str(count))
    size = stream_state(store, "bench").bytes / count
    what = f"{count:,} events"
    return [
        alone(f"{what}: open, s", opened, at_most=1.0, digits=3),
        alone(f"{what}: the last ten, s", tailed, at_most=1.0, digits=3),
        alone(f"{what}: verify, s", verified, digits=1),
        alone(f"{what}: memory of verify, MB", memory, at_most=200, digits=0),
        alone(f"{what}: bytes an event", size, digits=1),
        alone(f"{what}: written and sealed by one writer, s", took, digits=1),
        alone(f"{what}: memory of the writer with the workload, MB", peak, digits=0),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    printed("log-long", options.folder, lambda folder: long_lines(folder, options.events))


if __name__ == "__main__":
    main()
