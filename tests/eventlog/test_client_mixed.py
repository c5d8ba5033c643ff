"""Threads and an event loop share one client; nobody waits for an answer that does not come."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from eventlog.client import Client
from eventlog.outbox import Item, Outbox
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
