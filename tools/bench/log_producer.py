"""One producer process of the log benchmark: appends a fixed number of events durably, then says so.

    python log_producer.py {hemra|sqlite|jsonl} PATH --batches N --batch N --seed N [--threads N]

It prints `ready`, waits for a line on its input, has each thread append its batches, and prints how many
events were acknowledged. Every system gets the same encoded events; a batch is acknowledged as one. The
work is fixed, not the time: otherwise a system would look fast that lets one producer through and starves
fifteen.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

from log_workload import Workload

from eventlog.envelope import encode
from eventlog.schemas.base import EventData

Event = tuple[EventData, str]
#: Appends a batch durably.
Append = Callable[[list[Event]], None]


def hemra(path: Path) -> tuple[Append, Callable[[], None]]:
    """The recorder behind a client: all but the last event of a batch are emitted, the last is appended."""
    from eventlog.client import Client
    from eventlog.store import Store

    client = Client.connect(Store.open(path), "bench", source="bench")

    def append(batch: list[Event]) -> None:
        for data, trial in batch[:-1]:
            client.emit(data, trial=trial)
        data, trial = batch[-1]
        client.append(data, trial=trial)

    return append, client.close


def sqlite(path: Path) -> tuple[Append, Callable[[], None]]:
    """SQLite in WAL mode with synchronous=FULL; one connection a producer, one transaction a batch."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=120, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")

    def append(batch: list[Event]) -> None:
        rows = [(_line(event),) for event in batch]
        if len(rows) == 1:
            connection.execute("INSERT INTO events (line) VALUES (?)", rows[0])
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events (line) VALUES (?)", rows)
        connection.execute("COMMIT")

    return append, connection.close


def jsonl(path: Path) -> tuple[Append, Callable[[], None]]:
    """One file for all producers, O_APPEND, an exclusive flock around one write and one fdatasync."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)

    def append(batch: list[Event]) -> None:
        data = b"".join(_line(event) + b"\n" for event in batch)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            os.write(fd, data)
            os.fdatasync(fd)
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    return append, lambda: os.close(fd)


def _line(event: Event) -> bytes:
    data, trial = event
    return encode(data, source="bench", trial=trial, blobs=None)


def as_tasks(options: argparse.Namespace, events: list[Event]) -> None:
    """As `main`, with as many tasks as there would be threads, all in one event loop."""
    from eventlog.client import Client
    from eventlog.store import Store

    client = Client.connect(Store.open(options.path), "bench", source="bench")
    print("ready", flush=True)
    sys.stdin.readline()

    async def work(index: int) -> int:
        for data, trial in islice(cycle(events[index:] + events[:index]), options.batches):
            await client.append_async(data, trial=trial)
        return int(options.batches)

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*(work(n) for n in range(options.threads))))

    print(asyncio.run(all_of_them()), flush=True)
    client.close()


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser()
    parser.add_argument("system", choices=["hemra", "sqlite", "jsonl"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", action="store_true", help="tasks of an event loop instead of threads")
    options = parser.parse_args()
    events = list(Workload(options.seed).events(2000))
    if options.tasks:
        as_tasks(options, events)
        return
    append, close = {"hemra": hemra, "sqlite": sqlite, "jsonl": jsonl}[options.system](options.path)
    print("ready", flush=True)
    sys.stdin.readline()
    counts = [0] * options.threads

    def work(index: int) -> None:
        source = cycle(events[index:] + events[:index])
        for _ in range(options.batches):
            append(list(islice(source, options.batch)))
            counts[index] += options.batch

    threads = [threading.Thread(target=work, args=(n,)) for n in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(counts), flush=True)
    close()


if __name__ == "__main__":
    main()
