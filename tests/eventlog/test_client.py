"""The client: one order, acknowledged means recorded, nothing lost in silence, never stuck."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from eventlog import client as client_module
from eventlog import outbox, uplink
from eventlog.bus_messages import Answer, Status, unpack_request
from eventlog.client import Client
from eventlog.errors import BadEvent, LogError, RecorderRefused, RecorderUnavailable, StoreError, StreamBusy
from eventlog.reader import read, resolve, stream_state
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store
from eventlog.stream import StreamWriter


def say(text: Any) -> MessageRecorded:
    """A small event."""
    return MessageRecorded(role="user", text=text)


def texts(store: Store, stream: str = "run") -> list[Any]:
    """Text of every event, after checking that seq is dense."""
    events = list(read(store, stream))
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    return [resolve(store, e.data["text"]) for e in events]


@pytest.fixture
def client(store: Store) -> Iterator[Client]:
    """A client of a new stream `run`, with a real recorder."""
    with Client.connect(store, "run", source="test", create=True) as one:
        yield one


def test_append_gives_the_seq_and_shares_one_order_with_emit(store: Store, client: Client) -> None:
    """If this failed, what was emitted before a deciding event could stand after it."""
    assert client.append(say("a"), trial="0001") == 1
    for text in "bcd":
        client.emit(say(text))
    assert client.append(say("e")) == 5
    client.emit(say("f"))
    client.flush()
    assert texts(store) == list("abcdef")
    first = next(iter(read(store, "run")))
    assert (first.source, first.trial, first.type) == ("test", "0001", "message.recorded")


def test_emit_is_handed_over_soon_without_anybody_waiting(store: Store, client: Client) -> None:
    """If this failed, a tail would see terminal output late, or only at the next append."""
    waits = []
    for number in range(1, 11):
        began = time.monotonic()
        client.emit(say(str(number)))
        while stream_state(store, "run").last_seq < number:
            assert time.monotonic() - began < 5, "an emitted event was not handed over"
            time.sleep(0.002)
        waits.append(time.monotonic() - began)
    assert sorted(waits)[5] < 0.1


def test_many_threads_share_the_client(store: Store, client: Client) -> None:
    """If this failed, threads would lose, double or reorder each other's events."""
    seqs: dict[int, list[int | None]] = {n: [] for n in range(8)}

    def work(number: int) -> None:
        for index in range(40):
            client.emit(say(f"{number}:{index}e"))
            seqs[number].append(client.append(say(f"{number}:{index}a")))

    threads = [threading.Thread(target=work, args=(n,)) for n in seqs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded = texts(store)
    assert len(recorded) == 8 * 80
    for number, given in seqs.items():
        mine = [t for t in recorded if t.startswith(f"{number}:")]
        assert mine == [f"{number}:{i}{kind}" for i in range(40) for kind in "ea"]
        assert [recorded[seq - 1] for seq in given if seq] == [f"{number}:{i}a" for i in range(40)]


def test_asyncio_appends_together_without_blocking_the_loop(store: Store, client: Client) -> None:
    """If this failed, one trial's event would hold up all other trials of the engine."""

    async def main() -> list[int | None]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        large = client.append_async(say("x" * 2_000_000))
        seqs = await asyncio.gather(large, *(client.append_async(say(str(n))) for n in range(100)))
        ticking.cancel()
        assert ticks
        return seqs

    seqs = asyncio.run(main())
    assert sorted(seqs, key=lambda s: s or 0) == list(range(1, 102))
    recorded = texts(store)
    assert recorded[(seqs[0] or 0) - 1] == "x" * 2_000_000
    assert [recorded[(s or 0) - 1] for s in seqs[1:]] == [str(n) for n in range(100)]


def test_an_abandoned_async_append_is_recorded_all_the_same(store: Store, client: Client) -> None:
    """If this failed, cancelling a trial would break the client for the others."""

    async def main() -> None:
        task = asyncio.create_task(client.append_async(say("abandoned")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.append_async(say("next"))

    asyncio.run(main())
    assert texts(store) == ["abandoned", "next"]


def test_odd_payloads_are_kept_exactly(store: Store, client: Client) -> None:
    """If this failed, what a harness printed would be refused on the way or altered."""
    odd: list[Any] = [
        "\ud800 lone", "nul \0", b"\xff\xfe", 2**64, -(2**70), float("inf"), {1: "x", "$blob": 3},
        "ä" * 300_000, b"\0\xff" * 100_000,
    ]  # fmt: skip
    for value in odd:
        client.append(say(value))
    assert texts(store) == odd
    with pytest.raises(BadEvent):
        client.append(say(object()))
    assert client.append(say("after")) == len(odd) + 1


def test_a_clock_that_jumps_changes_neither_order_nor_durations(store: Store) -> None:
    """If this failed, a time correction in mid-run would reorder events or give a negative duration."""
    walls = iter([10**18, 10**18 - 3_600_000_000_000, 10**18 + 5])
    monos = iter([100, 200, 350])
    with Client.connect(
        store, "run", source="t", create=True, wall=walls.__next__, mono=monos.__next__
    ) as client:
        for text in "abc":
            client.append(say(text))
    events = list(read(store, "run"))
    assert [e.data["text"] for e in events] == ["a", "b", "c"]
    assert events[1].time < events[0].time
    assert [e.mono for e in events] == [100, 200, 350]


def test_finish_seals_and_a_second_client_reopens(store: Store) -> None:
    """If this failed, a finished run could not be resumed, or finishing would lose what was emitted last."""
    with Client.connect(store, "run", source="t", create=True) as client:
        client.emit(say("last words"))
        client.finish()
        assert stream_state(store, "run").finished
    with Client.connect(store, "run", source="t") as client:
        assert client.append(say("resumed")) == 2
        assert not stream_state(store, "run").finished
    assert texts(store) == ["last words", "resumed"]


def test_two_clients_of_one_stream_can_both_finish(store: Store) -> None:
    """If this failed, the slower of two would hang or report a failure although all is well."""
    first = Client.connect(store, "run", source="a", create=True)
    second = Client.connect(store, "run", source="b")
    first.append(say("a"))
    second.append(say("b"))
    first.finish()
    second.finish()
    first.close()
    second.close()
    assert stream_state(store, "run").finished


def test_create_refuses_an_existing_stream(store: Store, client: Client) -> None:
    """If this failed, two runs of the same id would be mixed."""
    with pytest.raises(StoreError, match="exists already"):
        Client.connect(store, "run", source="t", create=True)


def test_a_closed_client_says_so(store: Store) -> None:
    """If this failed, an event after close would vanish without a word."""
    client = Client.connect(store, "run", source="t", create=True)
    client.emit(say("kept"))
    client.close()
    client.close()
    with pytest.raises(LogError, match="closed"):
        client.emit(say("late"))
    with pytest.raises(LogError, match="closed"):
        client.append(say("late"))
    assert texts(store) == ["kept"]


def test_without_a_recorder_it_says_so_in_time(store: Store) -> None:
    """If this failed, a producer that may not start a recorder would wait for ever."""
    StreamWriter.open(store, "run", create=True).close()
    with pytest.raises(RecorderUnavailable, match="run"):
        Client.connect(store, "run", source="t", start_recorder=False, timeout_s=0.3)


def test_a_stream_that_another_program_writes_is_busy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, the user would see a time-out and not who holds the stream."""
    monkeypatch.setattr(uplink, "BUSY_S", 0.3)
    with StreamWriter.open(store, "run", create=True), pytest.raises(StreamBusy, match=str(os.getpid())):
        Client.connect(store, "run", source="t")


def test_ctrl_c_ends_an_append_whose_recorder_hangs(store: Store) -> None:
    """If this failed, a person could not stop a program whose disk hangs."""
    script = """
import os, signal, sys
from eventlog import Client, Store
from eventlog.reader import stream_state
from eventlog.schemas.conversation import MessageRecorded
store = Store.open(sys.argv[1])
client = Client.connect(store, "run", source="t", create=True)
client.append(MessageRecorded(role="user", text="before"))
os.kill(stream_state(store, "run").writer, signal.SIGSTOP)
print(stream_state(store, "run").writer, flush=True)
client.append(MessageRecorded(role="user", text="hangs"))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(store.path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        recorder = int(process.stdout.readline())
        try:
            time.sleep(0.2)  # let it go into the append
            process.send_signal(signal.SIGINT)
            process.wait(5)
            assert process.returncode in (-signal.SIGINT, 130)
        finally:
            os.kill(recorder, signal.SIGCONT)
    assert texts(store)[0] == "before"


class FakeUplink:
    """Answers in place of a recorder, by a script of statuses or exceptions; OK when the script is over."""

    def __init__(self, *script: Status | BaseException) -> None:
        self.script = list(script)
        self.recorded: list[str] = []
        self.requests: list[Any] = []
        self.gate = threading.Event()
        self.gate.set()

    def ask(self, raw: bytes, deadline: float) -> Answer:
        """As Uplink.ask."""
        self.gate.wait(10)
        request = unpack_request(raw)
        self.requests.append(request)
        step = self.script.pop(0) if self.script else Status.OK
        if isinstance(step, BaseException):
            raise step
        if step is not Status.OK:
            return Answer(step, text="No space left on device")
        first = len(self.recorded) + 1
        self.recorded += [one.split(b'"text":"')[1].split(b'"')[0].decode() for one in request.lines]
        return Answer(Status.OK, first, len(self.recorded))

    def connect(self, deadline: float) -> None:
        """Nothing to connect."""

    def bye(self) -> None:
        """Nothing to leave."""


@pytest.fixture
def fake(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Client, FakeUplink]]:
    """A client whose recorder is a script."""
    StreamWriter.open(store, "run", create=True).close()
    script = FakeUplink()
    monkeypatch.setattr(client_module, "Uplink", lambda *_, **__: script)
    client = Client.connect(store, "run", source="t", timeout_s=5)
    yield client, script
    script.script = []
    client.close()


def wait_for(condition: Any) -> None:
    """Wait for a condition; fail when it does not come."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.005)


def test_a_full_disk_fails_the_append_and_keeps_what_was_emitted(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, an append on a full disk would hang or seem to succeed, or emitted output would be lost."""
    client, script = fake
    script.script = [Status.NO_ROOM]
    client.emit(say("output"))
    with pytest.raises(RecorderRefused, match="No space left"):
        client.append(say("decision"))
    client.append(say("later"))
    assert script.recorded == ["output", "later"]
    producers = {r.producer for r in script.requests}
    assert len(producers) == 2, "numbers of a refused event must not be used for another one"


def test_emitted_events_are_tried_again_by_themselves(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, terminal output would stay unrecorded after space came back, until somebody appends."""
    client, script = fake
    script.script = [Status.NO_ROOM, Status.NO_ROOM]
    client.emit(say("a"))
    client.emit(say("b"))
    wait_for(lambda: script.recorded == ["a", "b"])


def test_what_the_disk_never_took_is_reported_once(
    fake: tuple[Client, FakeUplink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, lost events would be lost in silence."""
    client, script = fake
    monkeypatch.setattr(client_module, "RETRY_S", 0.3)
    script.script = [Status.NO_ROOM] * 50
    client.emit(say("a"))
    client.emit(say("b"))
    wait_for(lambda: not client._outbox.busy())
    script.script = []
    with pytest.raises(RecorderRefused, match="stream run that are not recorded: 2 .*No space left"):
        client.append(say("c"))
    assert client.append(say("d")) == 1
    assert script.recorded == ["d"]


def test_a_refused_event_does_not_block_those_behind_it(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, one event that the recorder rejects would stop the whole producer."""
    client, script = fake
    script.script = [Status.BAD]
    with pytest.raises(RecorderRefused):
        client.append(say("poison"))
    assert client.append(say("fine")) == 1


def test_when_no_recorder_comes_back_everybody_who_waits_is_told(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, threads would wait for ever for a recorder that is gone."""
    client, script = fake
    script.script = [RecorderUnavailable("gone")]
    script.gate.clear()
    caught: list[LogError] = []

    def work(number: int) -> None:
        try:
            client.append(say(str(number)))
        except LogError as error:
            caught.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(client._outbox._waiting) == 4)
    script.gate.set()
    for thread in threads:
        thread.join(10)
    assert len(caught) == 5
    assert client.append(say("back")) is not None


def test_a_failure_of_the_machine_reaches_who_waits(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, running out of file descriptors would kill the sender and leave everybody waiting."""
    client, script = fake
    script.script = [OSError(24, "Too many open files"), OSError(24, "Too many open files")]
    with pytest.raises(RecorderUnavailable, match="Too many open files"):
        client.append(say("a"))
    client.emit(say("b"))
    wait_for(lambda: not script.script and not client._outbox.busy())
    with pytest.raises(RecorderUnavailable, match="stream run that are not recorded: 1 "):
        client.flush()
    assert client.append(say("c")) == 1


def test_an_interrupted_append_is_sent_with_the_next(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, Ctrl-C would leave the client without a sender, and everybody after it would hang."""
    client, script = fake
    script.script = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        client.append(say("interrupted"))
    assert client.append(say("next")) is not None
    assert script.recorded == ["interrupted", "next"]
    assert len({r.producer for r in script.requests}) == 1
    assert [r.first for r in script.requests] == sorted(r.first for r in script.requests)


def test_emit_waits_while_the_queue_is_full(
    fake: tuple[Client, FakeUplink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a harness that prints faster than the disk writes would fill the memory."""
    client, script = fake
    monkeypatch.setattr(outbox, "MAX_QUEUED_BYTES", 50_000)
    script.gate.clear()
    emitted = []

    def work() -> None:
        for number in range(300):
            client.emit(say(f"{number} " + "x" * 1000))
            emitted.append(number)

    thread = threading.Thread(target=work)
    thread.start()
    wait_for(lambda: len(emitted) > 30)
    time.sleep(0.2)  # it must not go on by itself
    assert len(emitted) < 60
    script.gate.set()
    thread.join(10)
    client.flush()
    assert len(emitted) == 300
    assert sum(len(r.lines) for r in script.requests) == 300


def test_requests_stay_within_their_bounds(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, a request could exceed what the bus carries."""
    client, script = fake
    script.gate.clear()
    for number in range(2500):
        client.emit(say(str(number)))
    for number in range(20):
        client.emit(say("y" * 60_000 + str(number)))
    script.gate.set()
    client.flush()
    assert max(len(r.lines) for r in script.requests) <= outbox.BATCH_EVENTS
    sizes = [sum(map(len, r.lines)) for r in script.requests]
    assert max(sizes) <= outbox.BATCH_BYTES
    assert len(script.recorded) == 2520
