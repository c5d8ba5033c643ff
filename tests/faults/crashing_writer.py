"""A process that appends to a stream, says what was acknowledged, and may be killed at a named crash point.

python crashing_writer.py STORE STREAM PRODUCER-BYTE FIRST COUNT
"""

from __future__ import annotations

import sys
from pathlib import Path

from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from tests.eventlog.conftest import line


def main(root: str, name: str, producer: str, first: str, count: str) -> None:
    """Append `count` events, three a commit, then finish; each acknowledged number is printed and flushed."""
    store = Store.open(Path(root))
    writer = StreamWriter.open(store, name)
    number, last = int(first), int(first) + int(count) - 1
    while number <= last:
        size = min(3, last - number + 1)
        lines = [line(f"{producer}:{number + i}") for i in range(size)]
        writer.commit([Incoming(producer.encode() * 16, number, lines)])
        number += size
        print(number - 1, flush=True)
    writer.finish()
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
