"""One producer process of the log benchmark: appends a fixed number of events durably, then says so.

    python log_producer.py SYSTEM ADDRESS --batches N --batch N --seed N [--at-once N]

It prints `ready`, waits for a line on its input, appends, and prints how many events were acknowledged and, with
--latencies, the seconds that each append took. `--at-once N` stands for N producers in this process: tasks of
one event loop where the system has an asynchronous client (hemra, redis, nats), threads where it has none.
Every system gets the same encoded events; a batch is acknowledged as one. The work is fixed, not the time:
otherwise a system would look fast that lets one producer through and starves fifteen.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from log_workload import Workload

from eventlog.envelope import encode
from eventlog.schemas.base import EventData

Event = tuple[EventData, str]
Batch = list[Event]
#: Appends a batch durably; or makes such an append for one of several producers of the loop.
Append = Callable[[Batch], None]
AsyncAppend = Callable[[Batch], Awaitable[None]]
#: Acknowledged events, and how long each append took in seconds.
Done = tuple[int, list[float]]


def _line(event: Event) -> bytes:
    data, trial = event
    return encode(data, source="bench", trial=trial, blobs=None)


def hemra(address: str) -> Append:
    """The recorder behind a client: all but the last event of a batch are emitted, the last is appended."""
    client = _client(address)

    def append(batch: Batch) -> None:
        for data, trial in batch[:-1]:
            client.emit(data, trial=trial)
        data, trial = batch[-1]
        client.append(data, trial=trial)

    return append


def _client(address: str) -> Any:
    from eventlog.client import Client
    from eventlog.store import Store

    return Client.connect(Store.open(Path(address)), "bench", source="bench")


def sqlite(address: str) -> Append:
    """One connection a producer, one transaction a batch."""
    local = threading.local()

    def append(batch: Batch) -> None:
        if not hasattr(local, "connection"):
            local.connection = sqlite3.connect(address, isolation_level=None, timeout=120)
            local.connection.execute("PRAGMA journal_mode=WAL")
            local.connection.execute("PRAGMA synchronous=FULL")
        connection = local.connection
        rows = [(event[1], _line(event)) for event in batch]
        if len(rows) == 1:
            connection.execute("INSERT INTO events (trial, line) VALUES (?, ?)", rows[0])
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events (trial, line) VALUES (?, ?)", rows)
        connection.execute("COMMIT")

    return append


def jsonl(address: str) -> Append:
    """One file for all producers; one write and one fdatasync a batch, under a lock."""
    local = threading.local()

    def append(batch: Batch) -> None:
        if not hasattr(local, "fd"):
            local.fd = os.open(address, os.O_WRONLY | os.O_APPEND)
        data = b"".join(_line(event) + b"\n" for event in batch)
        fcntl.flock(local.fd, fcntl.LOCK_EX)
        try:
            os.write(local.fd, data)
            os.fdatasync(local.fd)
        finally:
            fcntl.flock(local.fd, fcntl.LOCK_UN)

    return append


def redis(address: str) -> Append:
    """XADD of one field; a batch is one pipeline."""
    import redis as library

    connection = library.Redis(port=int(address))

    def append(batch: Batch) -> None:
        if len(batch) == 1:
            connection.xadd("bench", {"e": _line(batch[0])})
            return
        pipeline = connection.pipeline(transaction=False)
        for event in batch:
            pipeline.xadd("bench", {"e": _line(event)})
        pipeline.execute()

    return append


async def hemra_async(address: str, producers: int) -> list[AsyncAppend]:
    """One client, as the engine has it for all its trials."""
    client = _client(address)

    async def append(batch: Batch) -> None:
        for data, trial in batch[:-1]:
            client.emit(data, trial=trial)
        data, trial = batch[-1]
        await client.append_async(data, trial=trial)

    return [append] * producers


async def redis_async(address: str, producers: int) -> list[AsyncAppend]:
    """A connection a producer."""
    import redis.asyncio as library

    def one() -> AsyncAppend:
        connection = library.Redis(port=int(address))

        async def append(batch: Batch) -> None:
            if len(batch) == 1:
                await connection.xadd("bench", {"e": _line(batch[0])})
                return
            pipeline = connection.pipeline(transaction=False)
            for event in batch:
                pipeline.xadd("bench", {"e": _line(event)})
            await pipeline.execute()

        return append

    return [one() for _ in range(producers)]


async def nats_async(address: str, producers: int) -> list[AsyncAppend]:
    """One connection; each publish is acknowledged by itself, a batch is as many at once."""
    import nats

    connection = await nats.connect(f"nats://127.0.0.1:{address}")
    stream = connection.jetstream()
    await stream.add_stream(name="bench", subjects=["bench.*"])

    async def append(batch: Batch) -> None:
        await asyncio.gather(
            *(stream.publish(f"bench.{event[1]}", _line(event), timeout=60) for event in batch)
        )

    return [append] * producers


PLAIN: dict[str, Callable[[str], Append]] = {"hemra": hemra, "sqlite": sqlite, "jsonl": jsonl, "redis": redis}
LOOPED = {"hemra": hemra_async, "redis": redis_async, "nats": nats_async}


def _batches(events: list[Event], start: int, options: argparse.Namespace) -> Iterator[Batch]:
    source = cycle(events[start:] + events[:start])
    for _ in range(options.batches):
        yield list(islice(source, options.batch))


def _pause_until(due: float) -> float:
    return max(0.0, due - time.monotonic())


def in_threads(options: argparse.Namespace, events: list[Event]) -> Done:
    """The producers as threads. With `--rate` each waits for its turn, so that latency is not queueing."""
    append = PLAIN[options.system](options.address)
    _wait_for_go()
    times: list[float] = []

    def work(index: int) -> None:
        begin = time.monotonic()
        for number, batch in enumerate(_batches(events, index, options)):
            if options.rate:
                time.sleep(_pause_until(begin + number / options.rate))
            sent = time.perf_counter()
            append(batch)
            times.append(time.perf_counter() - sent)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(options.at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return options.at_once * options.batches * options.batch, times


async def in_tasks(options: argparse.Namespace, events: list[Event]) -> Done:
    """The producers as tasks of one event loop."""
    appends = await LOOPED[options.system](options.address, options.at_once)
    _wait_for_go()
    times: list[float] = []

    async def work(index: int, append: AsyncAppend) -> None:
        begin = time.monotonic() + (index / options.at_once / options.rate if options.rate else 0)
        for number, batch in enumerate(_batches(events, index, options)):
            if options.rate:
                await asyncio.sleep(_pause_until(begin + number / options.rate))
            sent = time.perf_counter()
            await append(batch)
            times.append(time.perf_counter() - sent)

    await asyncio.gather(*(work(n, append) for n, append in enumerate(appends)))
    return options.at_once * options.batches * options.batch, times


def _wait_for_go() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser()
    parser.add_argument("system", choices=sorted({*PLAIN, *LOOPED}))
    parser.add_argument("address")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1, help="producers in this process")
    parser.add_argument(
        "--rate", type=float, default=0, help="appends a second of each producer; 0 = all it can"
    )
    parser.add_argument("--latencies", action="store_true", help="print how long each append took")
    options = parser.parse_args()
    events = list(Workload(options.seed).events(2000))
    looped = options.system in LOOPED and (options.at_once > 1 or options.system not in PLAIN)
    count, times = asyncio.run(in_tasks(options, events)) if looped else in_threads(options, events)
    print(json.dumps([count, times if options.latencies else []]), flush=True)
    os._exit(0)  # what was acknowledged is on disk; how long a client takes to leave is not measured


if __name__ == "__main__":
    main()
