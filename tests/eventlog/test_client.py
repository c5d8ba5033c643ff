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

from eventlog import uplink
from eventlog.client import Client
from eventlog.errors import BadEvent, LogError, RecorderUnavailable, StoreError, StreamBusy
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


def test_a_recorder_killed_while_it_comes_up_is_started_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a second crash at a bad moment would end a run whose first crash it survived."""

    real, started = uplink.start_recorder, []

    def killed_first(*arguments: Any, **named: Any) -> None:
        started.append(1)
        if len(started) == 1:
            raise RecorderUnavailable("the recorder of run did not start: it said nothing")
        real(*arguments, **named)

    monkeypatch.setattr(uplink, "start_recorder", killed_first)
    with Client.connect(store, "run", source="test", create=True) as client:
        assert client.append(MessageRecorded(role="user", text="here")) == 1
        client.finish()
    assert len(started) == 2

    def always_killed(*arguments: Any, **named: Any) -> None:
        started.append(1)
        raise RecorderUnavailable("the recorder of run did not start: it said nothing")

    monkeypatch.setattr(uplink, "start_recorder", always_killed)
    with pytest.raises(RecorderUnavailable, match="said nothing"):
        Client.connect(store, "run", source="test")
    assert len(started) == 2 + uplink.MAX_STARTS


def test_starts_that_fail_beside_one_that_lives_are_no_verdict(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where something kills recorders, a producer would give up although those of others come up in between."""
    real, tries = uplink.start_recorder, iter(["killed", "killed", "busy", "killed", "killed", "well"])

    def tried(*args: Any, **options: Any) -> None:
        match next(tries):
            case "killed":
                raise RecorderUnavailable("the recorder of run did not start: it said nothing")
            case "busy":
                raise StreamBusy("another process writes it")
            case _:
                real(*args, **options)

    monkeypatch.setattr(uplink, "start_recorder", tried)
    with Client.connect(store, "run", source="test", create=True) as client:
        assert client.append(MessageRecorded(role="user", text="here")) == 1
