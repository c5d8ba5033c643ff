"""One workload through each system: bulk load, bytes an event, full scan, one trial's events, processor time, memory.

    python tools/bench/log_load.py [--events N] [--folder DIR]

The workload is the product's own mix, seeded, of 50 trials. HEMRA's events go through a client and the bus, many at a
time, and once more one by one. A "bare loop" encodes the same events with orjson, compresses 128 KiB at a time with
zstd -3 and writes one file, in one process, synced once: what any log of this kind must do at least.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402
import psutil  # noqa: E402
from lines import Line, against, alone, printed  # noqa: E402
from log_workload import Workload  # noqa: E402
from peers import (  # noqa: E402
    HEMRA,
    JSONL,
    NATS,
    REDIS,
    SQLITE,
    TITLES,
    available,
    bytes_below,
    client_paths,
    install,
    started,
)

from eventlog.client import Client  # noqa: E402
from eventlog.envelope import encode  # noqa: E402
from eventlog.lock import NAME as LOCK  # noqa: E402
from eventlog.lock import holder  # noqa: E402
from eventlog.reader import read  # noqa: E402
from eventlog.store import Store  # noqa: E402

TRIALS = 50
BATCH = 1000
#: One of the fifty, for reading by trial.
WANTED = "0007"
#: Servers get fewer events: their figures are per event, and JetStream acknowledges each by itself.
SHARE = {REDIS: 5, NATS: 50}


class Loaded(NamedTuple):
    """What loading a system and reading it back took. Rates in events a second."""

    load: float
    bytes_an_event: float
    scan: float
    by_trial_s: float
    cpu_s_a_million: float | None = None
    recorder_mb: float | None = None
    emitted: float | None = None


def events(count: int) -> Iterator[tuple[Any, str]]:
    """The workload."""
    return Workload(11, TRIALS).events(count)


def lines_of(count: int) -> Iterator[list[tuple[str, bytes]]]:
    """The workload encoded, in batches: (trial, line)."""
    made = ((trial, encode(data, source="bench", trial=trial, blobs=None)) for data, trial in events(count))
    while batch := list(islice(made, BATCH)):
        yield batch


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def bare_loop(path: Path, made: list[tuple[Any, str]]) -> float:
    """Events a second of the bare loop over the same events, which were made before."""
    import os

    import msgspec
    import uuid_utils
    import zstandard

    from eventlog import clock

    compress = zstandard.ZstdCompressor(level=3).compress
    begin, size, rows = time.perf_counter(), 0, []
    with path.open("wb") as file:
        for seq, (data, trial) in enumerate(made, 1):
            row = orjson.dumps(
                {"seq": seq, "id": str(uuid_utils.uuid7()), "time": clock.rfc3339(clock.wall_ns()),
                 "mono": clock.mono_ns(), "type": data.type, "v": data.v, "source": "bench", "trial": trial,
                 "data": msgspec.structs.asdict(data)}
            )  # fmt: skip
            rows.append(row)
            size += len(row)
            if size > 128 * 1024:
                file.write(compress(b"\n".join(rows) + b"\n"))
                rows, size = [], 0
        file.write(compress(b"\n".join(rows) + b"\n"))
        file.flush()
        os.fsync(file.fileno())
    return len(made) / (time.perf_counter() - begin)


def hemra(folder: Path, count: int) -> tuple[Loaded, float]:
    """HEMRA's figures, and the bare loop's rate over the same events in the same minutes."""
    made = list(events(min(count, 200_000)))
    with started(HEMRA, folder) as address:
        store = Store.open(Path(address))
        client = Client.connect(store, "bench", source="bench")
        recorder = psutil.Process(holder(store.stream_path("bench") / LOCK) or 0)
        own = psutil.Process()
        before = sum(own.cpu_times()[:2]) + sum(recorder.cpu_times()[:2])
        peak, loaded = 0, 0

        def load() -> None:
            nonlocal peak, loaded
            while loaded < count:
                part = made[: count - loaded]
                client.append_many(part)
                loaded += len(part)
                peak = max(peak, recorder.memory_info().rss)

        took = timed(load)
        cpu = sum(own.cpu_times()[:2]) + sum(recorder.cpu_times()[:2]) - before
        bare = bare_loop(folder / "bare", made)
        peak = max(peak, recorder.memory_info().rss)
        client.finish()
        client.close()
        size = sum(f.stat().st_size for f in store.stream_path("bench").glob("*.zst")) / count
        scan = timed(lambda: check(sum(1 for _ in read(store, "bench")), count))
        one = timed(lambda: sum(1 for _ in read(store, "bench", trials=[WANTED])))
    emitted = emitting(folder, made)
    return Loaded(count / took, size, count / scan, one, cpu * 1e6 / count, peak / 1e6, emitted), bare


def emitting(folder: Path, made: list[tuple[Any, str]]) -> float:
    """Events a second where each is handed over by itself and a thread of the client sends them, as in a run."""
    with (
        started(HEMRA, folder) as address,
        Client.connect(Store.open(Path(address)), "bench", source="bench") as client,
    ):

        def emit() -> None:
            for data, trial in made:
                client.emit(data, trial=trial)
            client.flush()

        return len(made) / timed(emit)


def parsed(lines: Iterable[bytes]) -> int:
    """How many events there are, each parsed, as whoever reads them needs it."""
    return sum(1 for _ in map(orjson.loads, lines))


def check(found: int, expected: int) -> None:
    """Refuse a figure of a reading that did not read everything."""
    if found != expected:
        raise SystemExit(f"{found} of {expected} events were read")


def sqlite(folder: Path, count: int) -> Loaded:
    """SQLite: transactions of BATCH events."""
    with started(SQLITE, folder) as address, contextlib.closing(sqlite3.connect(address)) as db:
        db.isolation_level = None
        db.execute("PRAGMA synchronous=FULL")

        def load() -> None:
            for batch in lines_of(count):
                db.execute("BEGIN IMMEDIATE")
                db.executemany("INSERT INTO events (trial, line) VALUES (?, ?)", batch)
                db.execute("COMMIT")

        took = timed(load)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        scan = timed(
            lambda: check(parsed(r[0] for r in db.execute("SELECT line FROM events ORDER BY seq")), count)
        )
        one = timed(
            lambda: parsed(r[0] for r in db.execute("SELECT line FROM events WHERE trial = ?", (WANTED,)))
        )
        return Loaded(count / took, bytes_below(Path(address)) / count, count / scan, one)


def jsonl(folder: Path, count: int) -> Loaded:
    """One file: one write and one fdatasync per BATCH events."""
    import os

    with started(JSONL, folder) as address:
        path = Path(address)

        def load() -> None:
            with path.open("ab", buffering=0) as file:
                for batch in lines_of(count):
                    file.write(b"".join(line + b"\n" for _, line in batch))
                    os.fdatasync(file.fileno())

        took = timed(load)
        mark = f'"trial":"{WANTED}"'.encode()
        with path.open("rb") as file:
            scan = timed(lambda: check(parsed(file), count))
        with path.open("rb") as file:
            one = timed(lambda: parsed(line for line in file if mark in line))
        return Loaded(count / took, bytes_below(path) / count, count / scan, one)


def redis(folder: Path, count: int) -> Loaded:
    """Redis Streams: pipelines of BATCH; what it keeps on disk is its append-only file."""
    import redis as library

    with started(REDIS, folder) as address:
        connection = library.Redis(port=int(address))

        def load() -> None:
            for batch in lines_of(count):
                pipeline = connection.pipeline(transaction=False)
                for trial, line in batch:
                    pipeline.xadd("bench", {"t": trial, "e": line})
                pipeline.execute()

        def rows() -> Iterator[dict[bytes, bytes]]:
            after = "-"
            while found := connection.xrange("bench", after, count=BATCH):
                yield from (fields for _, fields in found)
                after = "(" + found[-1][0].decode()

        took = timed(load)
        scan = timed(lambda: check(parsed(row[b"e"] for row in rows()), count))
        one = timed(lambda: parsed(row[b"e"] for row in rows() if row[b"t"] == WANTED.encode()))
        size = sum(bytes_below(path) for path in folder.glob("redis-*/redis/appendonlydir"))
        return Loaded(count / took, size / count, count / scan, one)


def nats(folder: Path, count: int) -> Loaded:
    """JetStream: BATCH publishes at once; read back by an ephemeral ordered consumer."""
    with started(NATS, folder) as address:
        load, scan, one = asyncio.run(_nats(address, count))
        size = sum(bytes_below(path) for path in folder.glob("nats-*/nats/js"))
    return Loaded(count / load, size / count, count / scan, one)


async def _nats(address: str, count: int) -> tuple[float, float, float]:
    import nats as library

    connection = await library.connect(f"nats://127.0.0.1:{address}")
    stream = connection.jetstream()
    await stream.add_stream(name="bench", subjects=["bench.*"])
    begin = time.perf_counter()
    for batch in lines_of(count):
        await asyncio.gather(*(stream.publish(f"bench.{t}", line, timeout=60) for t, line in batch))
    load = time.perf_counter() - begin

    async def consume(subject: str, expected: int | None) -> float:
        begin, got = time.perf_counter(), 0
        subscription = await stream.subscribe(subject, ordered_consumer=True)
        with contextlib.suppress(library.errors.TimeoutError):
            while expected is None or got < expected:
                orjson.loads((await subscription.next_msg(timeout=0.5)).data)
                got += 1
                ended = time.perf_counter()
        if expected is not None:
            check(got, expected)
        return ended - begin

    found = load, await consume("bench.*", count), await consume(f"bench.{WANTED}", None)
    await connection.close()
    return found


PEERS = {SQLITE: sqlite, JSONL: jsonl, REDIS: redis, NATS: nats}


def load_lines(folder: Path, count: int, systems: list[str]) -> list[Line]:
    """All figures, each against each other system."""
    ours, bare = hemra(folder, count)
    theirs = {s: PEERS[s](folder, count // SHARE.get(s, 1)) for s in systems if s != HEMRA}
    best = min(loaded.bytes_an_event for loaded in theirs.values())
    lines = [
        against(
            "bulk load through the bus, events/s", ours.load, bare, "bare orjson + zstd + write", target=0.5
        )
    ]
    for system, loaded in theirs.items():
        title = TITLES[system]
        size = loaded.bytes_an_event
        target = 0.5 if size == best else None
        lines += [
            against("bulk load, batches of 1,000, events/s", ours.load, loaded.load, title),
            against("bytes an event", ours.bytes_an_event, size, title, target=target, at_most=True, digits=1),
            against("full scan, events/s", ours.scan, loaded.scan, title),
            against("one trial of 50 of as many events, ms", ours.by_trial_s * 1000,
                    loaded.by_trial_s * 1000 * SHARE.get(system, 1), title, digits=1),
        ]  # fmt: skip
    assert ours.cpu_s_a_million is not None
    assert ours.recorder_mb is not None
    assert ours.emitted is not None
    lines.insert(1, against("emitted one by one, events/s", ours.emitted, bare, "bare orjson + zstd + write"))
    return [
        *lines,
        alone("processor seconds a million events, client and recorder", ours.cpu_s_a_million, digits=1),
        alone(f"recorder's memory after {count:,} events, MB", ours.recorder_mb, at_most=120, digits=1),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    options = parser.parse_args()
    install()
    sys.path += client_paths()
    printed("log-load", options.folder, lambda folder: load_lines(folder, options.events, available()))


if __name__ == "__main__":
    main()
