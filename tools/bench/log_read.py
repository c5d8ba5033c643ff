"""How small a sealed stream is and how fast it is read: beside one file of the same lines.

python tools/bench/log_read.py [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lines import Line, against, printed  # noqa: E402
from log_workload import Workload  # noqa: E402

from eventlog.envelope import encode  # noqa: E402 - the checkout beside this file is measured
from eventlog.reader import read, read_lines  # noqa: E402
from eventlog.segments import list_segments  # noqa: E402
from eventlog.store import Store  # noqa: E402
from eventlog.stream import Incoming, StreamWriter  # noqa: E402


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
        against("bytes an event, sealed", sealed / events, size / events, "one zstd -3 file",
                target=1.05, at_most=True, digits=1),
        against("events/s, read all", ours, theirs, "bare zstd + orjson loop", target=0.6),
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of which the median counts")
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    printed(
        "log-read", options.folder, lambda folder: size_and_read_lines(options.events, options.rounds, folder)
    )


if __name__ == "__main__":
    main()
