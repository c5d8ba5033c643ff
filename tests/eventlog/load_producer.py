"""A producer process for the load tests: `python -m tests.eventlog.load_producer STORE NAME THREADS EVENTS`.

Each thread appends and emits EVENTS events in turn, named `NAME.thread:number`; every acknowledged append is printed as
one line `seq name` as soon as it is acknowledged.
"""

from __future__ import annotations

import sys
import threading

from eventlog.client import Client
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store


def main() -> None:
    """Connect, wait for a line on standard input, produce, flush."""
    path, name, threads, events = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    printing = threading.Lock()
    with Client.connect(Store.open(path), "run", source=name) as client:

        def work(thread: int) -> None:
            for number in range(events):
                text = f"{name}.{thread}:{number}"
                event = ToolCalled(call=text, name="t", arguments={"n": number})
                if number % 3 == 2:
                    client.emit(event)
                    continue
                seq = client.append(event)
                with printing:
                    print(seq, text, flush=True)

        print("ready", flush=True)
        sys.stdin.readline()
        workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    main()
