"""One subscriber of the latency benchmark: takes events as they come and says how old each was.

    python log_subscriber.py {hemra|redis|nats} ADDRESS COUNT

It prints `ready`, then a JSON list of seconds from the event's `mono` to its coming.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson

#: A server's subscriber gives up after this long without an event.
_QUIET_S = 10.0


def hemra(address: str) -> Iterator[int]:
    """`mono` of each event, by following the stream."""
    from eventlog.follow import follow
    from eventlog.store import Store

    print("ready", flush=True)
    for event in follow(Store.open(Path(address)), "bench"):
        yield event.mono


def redis(address: str) -> Iterator[int]:
    """`mono` of each entry, by blocking reads."""
    import redis as library

    connection = library.Redis(port=int(address))
    print("ready", flush=True)
    after = b"0"
    while found := connection.xread({"bench": after}, count=1000, block=int(_QUIET_S * 1000)):
        entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))[0]
        after = entries[-1][0]
        for _, fields in entries:
            yield orjson.loads(fields[b"e"])["mono"]


async def nats(address: str, count: int) -> list[float]:
    """Ages of the messages, by a push subscription."""
    import nats as library

    connection = await library.connect(f"nats://127.0.0.1:{address}")
    subscription = await connection.subscribe("bench.*")
    await connection.flush()
    print("ready", flush=True)
    ages = []
    for _ in range(count):
        try:
            message = await subscription.next_msg(timeout=_QUIET_S)
        except library.errors.TimeoutError:
            break
        ages.append((time.monotonic_ns() - orjson.loads(message.data)["mono"]) / 1e9)
    return ages


def main() -> None:
    """See the module's docstring."""
    system, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if system == "nats":
        ages = asyncio.run(nats(address, count))
    else:
        monos = {"hemra": hemra, "redis": redis}[system](address)
        ages = [(time.monotonic_ns() - mono) / 1e9 for mono in islice(monos, count)]
    print(json.dumps(ages), flush=True)


if __name__ == "__main__":
    main()
