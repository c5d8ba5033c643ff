"""Following: every event once and in order, at the seam of history and live, over restarts, kills and sealing."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from eventlog import follow as follow_module
from eventlog.client import Client
from eventlog.envelope import Event
from eventlog.errors import BadFilter, DamageError, StreamNotFound
from eventlog.follow import follow
from eventlog.reader import stream_state
from eventlog.schemas.conversation import MessageRecorded, ToolCalled
from eventlog.seal import seal
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.eventlog.conftest import filled, incoming


class Follower:
    """Follows in a thread and keeps what came, with the time of its coming."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.stop = threading.Event()
        self.events: list[Event] = []
        self.times: list[float] = []
        self.error: Exception | None = None
        self._arrived = threading.Condition()
        self._options = options
        self._thread = threading.Thread(target=self._run, args=(store,))
        self._thread.start()

    def _run(self, store: Store) -> None:
        try:
            for event in follow(store, "run", stop=self.stop, **self._options):
                with self._arrived:
                    self.events.append(event)
                    self.times.append(time.monotonic())
                    self._arrived.notify_all()
        except Exception as error:  # noqa: BLE001 - handed to the test's thread by `join`
            self.error = error

    def wait(self, count: int, seconds: float = 20.0) -> None:
        """Until `count` events came."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.events) >= count, seconds), self.events[-3:]

    def join(self, seconds: float = 20.0) -> list[int]:
        """Until it ended by itself; the seqs that came."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "it did not end"
        if self.error is not None:
            raise self.error
        return [event.seq for event in self.events]

    def end(self) -> None:
        """Make it end."""
        self.stop.set()
        self.join()


@pytest.fixture
def ending() -> Iterator[list[Follower]]:
    """Followers that are ended with the test."""
    followers: list[Follower] = []
    yield followers
    for follower in followers:
        follower.stop.set()
        follower._thread.join(10)


def say(text: object) -> MessageRecorded:
    """A small event."""
    return MessageRecorded(role="user", text=str(text))


def test_a_finished_stream_is_read_and_left(store: Store) -> None:
    """If this failed, `tail -f` of a finished run would hang."""
    filled(store)
    StreamWriter.open(store, "run").finish()
    assert [e.seq for e in follow(store, "run")] == list(range(1, 21))
    assert [e.seq for e in follow(store, "run", start=15)] == list(range(15, 21))
    assert list(follow(store, "run", start=99)) == []


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_missing_or_doubled_at_the_seam(store: Store, seed: int) -> None:
    """If this failed, events that come while history is read would be skipped or shown twice."""
    chance = random.Random(seed)
    writer = StreamWriter.open(store, "run", create=True)
    followers, number = [], 1
    for step in range(60):
        count = chance.randint(1, 30)
        writer.commit([incoming(1, number, count)])
        number += count
        if step % 20 == chance.randint(0, 19):
            followers.append((1, Follower(store)))
            followers.append((number, Follower(store, start=number)))
        if chance.random() < 0.08:
            writer.close()  # a new segment, and a time without a writer
            if chance.random() < 0.5:
                seal(store, "run")
            writer = StreamWriter.open(store, "run")
    followers.append((1, Follower(store)))
    writer.finish()
    for start, follower in followers:
        assert follower.join() == list(range(start, number))
        assert [e.data["call"] for e in follower.events] == [f"1:{n}" for n in range(start, number)]


def test_it_goes_on_over_kills_restarts_and_the_finish(store: Store) -> None:
    """If this failed, a tail would stop, skip or repeat when the recorder is restarted under it."""
    with Client.connect(store, "run", source="t", create=True) as client:
        followers = [Follower(store), Follower(store, start=40)]
        for number in range(1, 121):
            client.append(say(number))
            if number % 30 == 0:
                writer = stream_state(store, "run").writer
                assert writer is not None
                os.kill(writer, signal.SIGKILL)
        client.finish()
    assert followers[0].join() == list(range(1, 121))
    assert followers[1].join() == list(range(40, 121))
    assert [e.data["text"] for e in followers[0].events] == [str(n) for n in range(1, 121)]


def test_the_bus_wakes_it(store: Store, ending: list[Follower], monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a tail would show events only once a second."""
    monkeypatch.setattr(follow_module, "POLL_S", 60.0)
    with Client.connect(store, "run", source="t", create=True) as client:
        ending.append(Follower(store))
        waits = []
        for number in range(1, 21):
            client.append(say(number))
            done = time.monotonic()
            ending[0].wait(number, 5.0)
            waits.append(ending[0].times[-1] - done)
            time.sleep(0.005)  # let it go back to sleep
    assert sorted(waits)[10] < 0.1


def test_the_file_system_wakes_it_where_no_recorder_is(
    store: Store, ending: list[Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, following a stream that is not written by a recorder would need the poll."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.append(say("first"))
        ending.append(Follower(store))
        ending[0].wait(1)
        time.sleep(0.3)  # it watches by now
        monkeypatch.setattr(follow_module, "POLL_S", 60.0)
        began = time.monotonic()
        writer.append(say("second"))
        ending[0].wait(2, 5.0)
        assert ending[0].times[-1] - began < 0.9, "that was the poll, not the file system"


def test_it_finds_a_recorder_that_comes_later(store: Store, ending: list[Follower]) -> None:
    """If this failed, a tail that was started before the run would stay with polling."""
    filled(store, commits=1)
    ending.append(Follower(store))
    ending[0].wait(4)
    with Client.connect(store, "run", source="t") as client:
        for number in range(30):
            client.append(say(number))
        ending[0].wait(34)


@pytest.mark.parametrize("live", [True, False])
def test_stop_ends_it_soon(store: Store, live: bool) -> None:
    """If this failed, `tail -f` in a program could not be ended in time."""
    client = Client.connect(store, "run", source="t", create=True)
    client.append(say(1))
    if not live:
        client.finish()
        client.close()
        StreamWriter.open(store, "run").close()  # open again, and nobody writes
    follower = Follower(store)
    follower.wait(1)
    time.sleep(0.3)  # it sleeps by now
    began = time.monotonic()
    follower.end()
    assert time.monotonic() - began < 0.35
    client.close()


def test_filters_are_those_of_reading(store: Store) -> None:
    """If this failed, a filtered tail would show other events than a filtered read."""
    with StreamWriter.open(store, "run", create=True) as writer:
        for number in range(6):
            writer.append(ToolCalled(call=str(number), name="t", arguments=None), trial="0001")
            writer.append(say(number), trial="0002")
        writer.finish()

    def texts(**options: Sequence[str] | str) -> list[int]:
        return [e.seq for e in follow(store, "run", **options)]  # type: ignore[arg-type]

    assert texts(types=("tool.*",)) == [1, 3, 5, 7, 9, 11]
    assert texts(trials=("0002",)) == [2, 4, 6, 8, 10, 12]
    assert texts(types=("tool.*",), trials=("0002",)) == []
    moment = list(follow(store, "run"))[4].time
    assert texts(since=moment) == [5, 6, 7, 8, 9, 10, 11, 12]
    with pytest.raises(BadFilter):
        texts(since="yesterday")


def test_what_cannot_be_followed_is_said(store: Store) -> None:
    """If this failed, a typo or a damaged stream would look like a quiet one."""
    with pytest.raises(StreamNotFound, match="nowhere"):
        next(follow(store, "nowhere"))
    filled(store)
    path = list_segments(store.stream_path("run"))[0].path
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(DamageError) as caught:
        list(follow(store, "run"))
    assert caught.value.path == path


def test_only_what_is_durable_is_shown(store: Store, ending: list[Follower]) -> None:
    """If this failed, a tail could show an event that a crash then takes back."""
    filled(store, commits=2)
    segment = list_segments(store.stream_path("run"))[0].path
    whole = segment.read_bytes()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(1, 9, 1)])
        live = list_segments(store.stream_path("run"))[-1].path
        ending.append(Follower(store))
        ending[0].wait(9)
        with live.open("ab") as file:
            file.write(whole[: len(whole) // 2])  # above the anchor: as if a commit were under way
        time.sleep(0.3)
        assert len(ending[0].events) == 9
        assert ending[0].error is None


def test_sealing_between_two_segments_is_no_damage(store: Store) -> None:
    """If this failed, a reader that is half through would call the merged segment damaged."""
    for number in range(3):
        with StreamWriter.open(store, "run", create=number == 0) as writer:
            writer.commit([incoming(1, 1 + number * 4, 4)])
    reading = follow(store, "run")
    assert [next(reading).seq for _ in range(4)] == [1, 2, 3, 4]
    seal(store, "run")
    StreamWriter.open(store, "run").finish()
    assert [e.seq for e in reading] == list(range(5, 13))
