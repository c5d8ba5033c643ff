"""A loop that sends by itself: nobody depends on its coming back, and one order holds for all."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from eventlog.bus_messages import Answer, Status, unpack_request
from eventlog.client import Client
from eventlog.errors import LogError, RecorderRefused
from eventlog.outbox import Outbox
from eventlog.outbox_items import Item
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import MessageRecorded
from eventlog.sender import Sender
from eventlog.store import Store
from tests.eventlog.conftest import line


def say(text: str) -> MessageRecorded:
    """A small event."""
    return MessageRecorded(role="user", text=text)


def texts(store: Store) -> list[str]:
    """Text of every event."""
    return [e.data["text"] for e in read(store, "run")]


@pytest.fixture
def client(store: Store) -> Iterator[Client]:
    """A client of a new stream `run`, with a real recorder."""
    with Client.connect(store, "run", source="test", create=True) as one:
        yield one


async def in_flight(client: Client, text: str) -> asyncio.Task[Any]:
    """An append whose request is on its way and whose answer the loop has not taken."""
    recorder = stream_state(client.store, client.stream).writer
    assert recorder is not None
    os.kill(recorder, signal.SIGSTOP)
    try:
        task = asyncio.create_task(client.append_async(say(text)))
        deadline = time.monotonic() + 5
        while not client._outbox._parked:
            assert time.monotonic() < deadline, "the loop did not send by itself"
            await asyncio.sleep(0)
    finally:
        os.kill(recorder, signal.SIGCONT)
    return task


def test_a_loop_sends_without_a_thread(store: Store, client: Client) -> None:
    """If this failed, each asynchronous append would wake a thread: small appends would be a fifth slower."""
    senders = set()
    real = client._sender.take_off

    def noted(most: int) -> bool:
        senders.add(threading.current_thread())
        return real(most)

    client._sender.take_off = noted  # type: ignore[method-assign]

    async def main() -> list[int | None]:
        client.emit(say("first"))
        return list(await asyncio.gather(*(client.append_async(say(str(n))) for n in range(50))))

    assert asyncio.run(main()) == list(range(2, 52))
    assert senders == {threading.current_thread()}
    assert texts(store) == ["first", *map(str, range(50))]


@pytest.mark.parametrize("call", ["append", "flush", "append_many"])
def test_a_call_that_blocks_the_loop_does_not_wait_for_the_loop(
    store: Store, client: Client, call: str
) -> None:
    """If this failed, an append in a coroutine would hang for ever behind an asynchronous one."""

    async def main() -> None:
        task = await in_flight(client, "asynchronous")
        began = time.monotonic()
        match call:
            case "append":
                assert client.append(say("blocking")) == 2
            case "append_many":
                assert client.append_many([(say("blocking"), None)]) == 2
            case _:
                client.flush()
        assert time.monotonic() - began < 5
        assert await task == 1

    asyncio.run(main())
    assert texts(store)[:1] == ["asynchronous"]


def test_threads_do_not_wait_for_a_loop_that_is_blocked(store: Store, client: Client) -> None:
    """If this failed, one coroutine that computes for long would hold up everybody's events, and the live tail."""
    done: list[float] = []

    def elsewhere() -> None:
        client.emit(say("emitted"))
        client.append(say("appended"))
        done.append(time.monotonic())

    async def main() -> None:
        task = await in_flight(client, "asynchronous")
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join(10)  # the loop is blocked by this
        assert done, "a thread waited for the loop"
        client.emit(say("alone"))
        deadline = time.monotonic() + 10
        while stream_state(store, "run").last_seq < 4:
            assert time.monotonic() < deadline, "what was emitted waits for the loop"
            time.sleep(0.005)
        assert await task == 1

    asyncio.run(main())
    assert texts(store) == ["asynchronous", "emitted", "appended", "alone"]


def test_a_parked_request_is_brought_to_its_end_without_anybody_waiting(store: Store, client: Client) -> None:
    """If this failed, what a loop had queued when it was blocked or ended would never be recorded."""

    async def main() -> None:
        task = await in_flight(client, "sent")
        client.emit(say("queued behind it"))
        task.cancel()

    asyncio.run(main())
    deadline = time.monotonic() + 10
    while stream_state(store, "run").last_seq < 2:
        assert time.monotonic() < deadline, "it waits for a loop that has ended"
        time.sleep(0.005)

    async def again() -> int | None:
        return await client.append_async(say("in another loop"))

    assert asyncio.run(again()) == 3
    assert texts(store) == ["sent", "queued behind it", "in another loop"]


def test_recorders_that_die_under_a_loop_change_nothing(store: Store, client: Client) -> None:
    """If this failed, a crash of the recorder would lose, double or reorder what a loop sends, or leave it waiting."""

    async def one(name: str) -> None:
        for number in range(150):
            await asyncio.wait_for(client.append_async(say(f"{name}:{number}")), 30)

    async def killing() -> None:
        for _ in range(3):
            await asyncio.sleep(0.05)
            writer = stream_state(store, "run").writer
            if writer is not None:
                os.kill(writer, signal.SIGKILL)

    async def main() -> None:
        await asyncio.gather(killing(), *(one(f"t{index}") for index in range(8)))

    asyncio.run(main())
    found = texts(store)
    assert len(found) == len(set(found)) == 8 * 150
    for index in range(8):
        mine = [int(t.split(":")[1]) for t in found if t.startswith(f"t{index}:")]
        assert mine == list(range(150))


def test_two_loops_and_threads_share_a_client(store: Store, client: Client) -> None:
    """If this failed, loops that take turns at one client would lose answers, and wait for ever."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    async def one(name: str) -> None:
        for number in range(60):
            client.emit(say(f"{name}:{number}e"))
            await asyncio.wait_for(client.append_async(say(f"{name}:{number}a")), 30)

    async def some(name: str) -> None:
        await asyncio.gather(*(one(f"{name}{index}") for index in range(3)))

    def plain(name: str) -> None:
        for number in range(60):
            client.emit(say(f"{name}:{number}e"))
            client.append(say(f"{name}:{number}a"))

    threads = [threading.Thread(target=asyncio.run, args=(some(name),), daemon=True) for name in "xy"]
    threads += [threading.Thread(target=plain, args=(f"p{n}",), daemon=True) for n in range(2)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "somebody waits for ever"
    finally:
        sys.setswitchinterval(before)
    found = texts(store)
    assert len(found) == 8 * 120
    for name in ("x0", "x1", "x2", "y0", "y1", "y2", "p0", "p1"):
        mine = [t.split(":")[1] for t in found if t.startswith(f"{name}:")]
        assert mine == [f"{n}{kind}" for n in range(60) for kind in "ea"]


def test_closing_within_a_loop_ends(store: Store) -> None:
    """If this failed, a program that closes its client in a coroutine would hang, or leave a descriptor behind."""

    async def main() -> None:
        for number in range(3):
            client = Client.connect(store, "run", source="test", create=number == 0)
            task = await in_flight(client, str(number))
            client.close()
            assert await task == number + 1
            with pytest.raises(LogError, match="closed"):
                await client.append_async(say("late"))

    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    asyncio.run(main())
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before
    assert texts(store) == ["0", "1", "2"]


def test_a_parked_place_has_one_heir() -> None:
    """If this failed, a loop and a thread would read answers from one connection at once."""
    outbox, loop, other = Outbox(60.0), object(), object()
    assert outbox.try_lead(loop)
    assert outbox.leads(loop)
    outbox.park(loop, time.monotonic())
    assert not outbox.leads(loop)
    assert not outbox.claim(other)
    assert not outbox.try_lead(), "it is not overdue"
    assert outbox.claim(loop)
    assert not outbox.claim(loop)
    outbox.park(loop, time.monotonic())
    assert outbox.lead_or_wait(Item(b"{}")), "who waits takes the place"
    assert not outbox.claim(loop)
    outbox.hand_on()
    assert outbox.try_lead(loop)


def test_a_place_that_is_overdue_goes_to_the_background() -> None:
    """If this failed, the background sender would leave a request alone whose loop does not come back."""
    outbox, loop = Outbox(0.01), object()
    assert outbox.try_lead(loop)
    outbox.park(loop, time.monotonic())
    assert outbox.wait_due()
    assert outbox.try_lead()
    assert not outbox.claim(loop)


def test_a_loop_never_holds_what_a_thread_waits_for() -> None:
    """If this failed, Ctrl-C in the loop at a bad instant would leave a thread, and the program's end, hanging."""
    outbox, loop = Outbox(60.0), object()
    mine, emitted, behind = Item(b"{}", lambda _: None), Item(b"{}", waits=False), Item(b"{}", lambda _: None)
    threads = Item(b"{}")
    outbox.put_soon(mine)
    outbox.put(emitted)
    outbox.put(threads)
    outbox.put_soon(behind)
    assert outbox.try_lead(loop)
    assert outbox.take_more(1000) == [mine, emitted]
    assert outbox.take_more(1000) == []
    outbox.settle(1, 0, 2)
    told: list[int] = []
    outbox.left_to_loop = lambda: told.append(1)
    outbox.hand_on()
    assert not told, "the loop would come and go in vain until the thread takes the place"
    assert outbox.lead_or_wait(threads)
    assert outbox.take() == [threads, behind]


class Bus:
    """In place of an uplink: requests wait until they are answered, in order."""

    connected = True
    connection: Any = None

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.statuses: dict[int, Status] = {}
        self.recorded: list[bytes] = []
        self.dropped = 0

    def post(self, raw: bytes, _deadline: float) -> int:
        """Take a request."""
        self.requests.append(unpack_request(raw))
        return len(self.requests) - 1

    def collect(self, number: int, _deadline: float) -> Answer:
        """Answer it: OK, unless `statuses` says otherwise."""
        status = self.statuses.get(number, Status.OK)
        if status is not Status.OK:
            return Answer(status, text="refused")
        lines = self.requests[number].lines
        self.recorded += lines
        return Answer(Status.OK, len(self.recorded) - len(lines) + 1, len(self.recorded))

    def arrived(self, number: int) -> Answer:
        """As `collect`."""
        return self.collect(number, 0)

    def ask(self, raw: bytes, deadline: float, awake_until: float = 0.0) -> Answer:
        """Take and answer a request."""
        return self.collect(self.post(raw, deadline), deadline)

    def drop(self) -> None:
        """Count."""
        self.dropped += 1


def flying(outbox: Outbox, sender: Sender, loop: object, count: int) -> list[Item]:
    """Items in as many requests as there are items, of a producer that the recorder knows; the place is parked."""
    assert outbox.try_lead(loop)
    items = []
    for number in range(-1, count):
        items.append(Item(line(str(number)), lambda _: None))
        outbox.put_soon(items[-1])
        assert sender.take_off(1 << 16)
        if number < 0:
            sender.land()
    outbox.park(loop, time.monotonic())
    return items[1:]


def test_a_thread_brings_every_request_of_a_loop_to_its_end() -> None:
    """If this failed, answers would be given to the events of another request, or to nobody."""
    outbox, loop, bus = Outbox(60.0), object(), Bus()
    sender = Sender(bus, outbox, "run", 5.0)  # type: ignore[arg-type]
    items = flying(outbox, sender, loop, 3)
    mine, last = Item(line("mine")), Item(line("last"), lambda _: None)
    outbox.put(mine)
    outbox.put_soon(last)
    assert outbox.lead_or_wait(mine)
    sender.lead(mine)
    assert [item.seq for item in [*items, mine]] == [2, 3, 4, 5]
    assert outbox.try_lead(), "the place was not handed on"
    assert sender.flying_since is None
    assert bus.dropped == 0


@pytest.mark.parametrize("status", [Status.BAD, Status.NO_ROOM])
def test_what_flies_behind_a_refused_request_is_not_lost(status: Status) -> None:
    """If this failed, one refused event would take others with it in silence, or they would be recorded twice."""
    outbox, loop, bus = Outbox(60.0), object(), Bus()
    sender = Sender(bus, outbox, "run", 5.0)  # type: ignore[arg-type]
    items = flying(outbox, sender, loop, 3)
    bus.statuses = {
        2: status
    }  # the second of three: the recorder refuses the third too, its number does not follow
    assert outbox.claim(loop)
    sender.land()
    assert sender.flying_since is None
    assert bus.dropped == 1, "the third one's answer must not be taken for another's"
    assert items[0].seq == 2
    assert isinstance(items[1].error, RecorderRefused)
    outbox.hand_on(able=False)
    assert outbox.try_lead()
    if status is Status.NO_ROOM:
        assert isinstance(items[2].error, RecorderRefused), "appends fail at once on a full disk"
        assert outbox.take() == []
        return
    assert outbox.take() == [items[2]]
    before = {request.producer for request in bus.requests}
    outbox.hand_on()
    mine = Item(line("mine"))
    outbox.put(mine)
    assert outbox.lead_or_wait(mine)
    sender.lead(mine)
    assert (items[2].seq, mine.seq) == (3, 4)
    assert bus.requests[-1].producer not in before, (
        "numbers of a refused event must not be used for another one"
    )
