"""Threads and an event loop share one client; nobody waits for an answer that does not come."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eventlog.client import Client
from eventlog.errors import LogError
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item
from eventlog.reader import read
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store

ROUNDS = 400


def event(text: str) -> ToolCalled:
    """A small event."""
    return ToolCalled(call=text, name="t", arguments=None)


def test_asynchronous_appends_never_wait_for_nothing(store: Store) -> None:
    """If this failed, a run would stand still: its next event waits while the background sender sleeps."""
    client = Client.connect(store, "run", source="test", create=True)
    stop = threading.Event()

    def others(name: str) -> int:
        sent = 0
        while not stop.is_set():
            client.emit(event(f"{name}:{sent}"))
            client.flush()
            sent += 1
        return sent

    async def one(name: str) -> None:
        for number in range(ROUNDS):
            await asyncio.wait_for(client.append_async(event(f"{name}:{number}")), 20)
            if number % 7 == 0:
                await asyncio.to_thread(client.append, event(f"{name}:also {number}"))

    async def many() -> None:
        await asyncio.gather(*(one(f"a{index}") for index in range(3)))

    with ThreadPoolExecutor(2) as pool:
        sending = [pool.submit(others, f"o{index}") for index in range(2)]
        try:
            asyncio.run(many())
        finally:
            stop.set()
        extra = sum(future.result() for future in sending)
    client.finish()
    client.close()
    calls = [e.data["call"] for e in read(store, "run")]
    assert len(calls) == len(set(calls)) == extra + 3 * (ROUNDS + (ROUNDS + 6) // 7)
    for index in range(3):
        mine = [int(c.split(":")[1]) for c in calls if c.startswith(f"a{index}:") and "also" not in c]
        assert mine == list(range(ROUNDS))


def test_a_sender_that_fell_asleep_beside_another_is_woken() -> None:
    """If this failed, an asynchronous append that comes just after another's sending would wait for ever."""
    outbox = Outbox(0.05)
    assert outbox.try_lead()
    woken = threading.Event()

    def background() -> None:
        if outbox.wait_due():
            woken.set()

    thread = threading.Thread(target=background)
    thread.start()
    while not outbox._due_changed._waiters:  # type: ignore[attr-defined]
        threading.Event().wait(0.001)
    outbox.hand_on()  # nothing is queued: nobody needs to be told yet
    outbox.put(Item(b"{}", lambda item: None))
    assert woken.wait(5)
    outbox.end()
    thread.join()


def test_nothing_emitted_is_lost_by_a_close_beside_it(store: Store) -> None:
    """If this failed, events emitted while another thread closes would vanish without an error."""
    for round_ in range(8):
        client = Client.connect(store, f"run{round_}", source="test", create=True)
        sent: list[str] = []
        begun = threading.Event()

        def emit(client: Client = client, sent: list[str] = sent, begun: threading.Event = begun) -> None:
            try:
                while True:
                    client.emit(event(str(len(sent))))
                    sent.append(str(len(sent)))
                    begun.set()
            except LogError:
                return

        thread = threading.Thread(target=emit)
        thread.start()
        begun.wait(10)
        client.close()
        thread.join()
        assert [e.data["call"] for e in read(store, f"run{round_}")] == sent


def test_ctrl_c_leaves_the_others_their_answers(store: Store) -> None:
    """If this failed, an interrupted append would stop or double the events of other threads."""
    script = """
import signal, sys, threading, time
from pathlib import Path
from eventlog.client import Client
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store

client = Client.connect(Store.open(Path(sys.argv[1])), "run", source="test", create=True)
done = []

def work(name):
    for number in range(1500):
        client.append(ToolCalled(call=f"{name}:{number}", name="t", arguments=None))
    done.append(name)

threads = [threading.Thread(target=work, args=(n,)) for n in "abc"]
for thread in threads:
    thread.start()
main = threading.main_thread().ident
stop = threading.Event()

def interrupt():
    while not stop.wait(0.003):
        signal.pthread_kill(main, signal.SIGINT)

interrupter = threading.Thread(target=interrupt)
acknowledged = []
number = 0
interrupter.start()
working = True
while working:
    try:
        working = any(thread.is_alive() for thread in threads)
        number += 1
        client.append(ToolCalled(call=f"m:{number}", name="t", arguments=None))
        acknowledged.append(number)
    except KeyboardInterrupt:
        pass
while not stop.is_set():
    try:
        stop.set()
    except KeyboardInterrupt:
        pass
while interrupter.is_alive():
    try:
        interrupter.join()
    except KeyboardInterrupt:
        pass
client.close()
print(len(done), " ".join(map(str, acknowledged)))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script, str(store.path)], capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    finished, *acknowledged = done.stdout.split()
    assert finished == "3"
    calls = [e.data["call"] for e in read(store, "run")]
    assert len(calls) == len(set(calls))
    for name in "abc":
        assert [c for c in calls if c.startswith(name)] == [f"{name}:{n}" for n in range(1500)]
    assert {f"m:{n}" for n in acknowledged} <= set(calls)
