"""Many events at once: in one order with all others, once each, and what is recorded is a beginning of them."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from eventlog import bulk
from eventlog.bulk import Lane, batches
from eventlog.bus_messages import Answer, Status, unpack_request
from eventlog.bus_peer import Unreachable
from eventlog.client import Client
from eventlog.errors import BadEvent, LogError, RecorderRefused, RecorderUnavailable
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store
from tests.eventlog.conftest import line


def say(text: Any) -> MessageRecorded:
    """A small event."""
    return MessageRecorded(role="user", text=text)


def many(first: int, count: int, size: int = 0) -> Iterator[tuple[MessageRecorded, str | None]]:
    """Events whose text is their number, made longer by `size` bytes."""
    return ((say(f"{n}{' ' * size}"), "0001") for n in range(first, first + count))


def texts(store: Store) -> list[str]:
    """Text of every event, after checking that seq is dense."""
    events = list(read(store, "run"))
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    return [e.data["text"].strip() for e in events]


@pytest.fixture
def client(store: Store) -> Iterator[Client]:
    """A client of a new stream `run`, with a real recorder."""
    with Client.connect(store, "run", source="test", create=True) as one:
        yield one


def test_many_stand_between_what_came_before_and_after(store: Store, client: Client) -> None:
    """If this failed, what was emitted before a bulk could stand after it, or a later append before its end."""
    client.emit(say("emitted"))
    assert client.append_many(many(0, 5000, 100)) == 5001
    assert client.append(say("appended")) == 5002
    client.emit(say("emitted again"))
    assert asyncio.run(client.append_many_async(many(5000, 3))) == 5006
    assert client.append_many([]) is None
    numbers = [str(n) for n in range(5003)]
    assert texts(store) == ["emitted", *numbers[:5000], "appended", "emitted again", *numbers[5000:]]
    assert {e.trial for e in read(store, "run", start=2, stop=5001)} == {"0001"}


def test_recorders_that_die_in_the_middle_change_nothing(store: Store, client: Client) -> None:
    """If this failed, a crash of the recorder would lose, double or reorder a part of a bulk."""

    def killing() -> Iterator[tuple[MessageRecorded, str | None]]:
        for number, event in enumerate(many(0, 9000, 300)):
            if number in (2500, 6500):
                writer = stream_state(store, "run").writer
                assert writer is not None
                os.kill(writer, signal.SIGKILL)
            yield event

    assert client.append_many(killing()) in (9000, None)
    assert client.append(say("9000")) == 9001
    assert texts(store) == [str(n) for n in range(9001)]


def test_others_append_while_a_bulk_goes_on(store: Store, client: Client) -> None:
    """If this failed, a bulk, or what makes its events slowly, would keep everybody else from recording."""
    go_on = threading.Event()

    def slow() -> Iterator[tuple[MessageRecorded, str | None]]:
        yield from many(0, 1000)
        go_on.wait(10)
        yield from many(1000, 1000)

    loading = threading.Thread(target=client.append_many, args=(slow(),))
    loading.start()
    try:
        for number in range(20):
            client.append(say(f"other {number}"))
        assert client.append_many(many(5000, 10)) is not None, "another bulk beside it"
    finally:
        go_on.set()
        loading.join(10)
    assert not loading.is_alive()
    found = texts(store)
    assert [t for t in found if t.isdecimal() and int(t) < 5000] == [str(n) for n in range(2000)]
    assert [t for t in found if t.startswith("other")] == [f"other {n}" for n in range(20)]


def test_what_came_before_a_bad_event_is_recorded(store: Store, client: Client) -> None:
    """If this failed, an error of the caller's would lose events that were right, or record what came after it."""

    def broken() -> Iterator[tuple[MessageRecorded, str | None]]:
        yield from many(0, 700)
        raise ZeroDivisionError("the caller's own")

    with pytest.raises(ZeroDivisionError, match="the caller's own"):
        client.append_many(broken())
    assert stream_state(store, "run").last_seq == 700
    with pytest.raises(BadEvent):
        client.append_many([(say("700"), None), (say(object()), None), (say("never"), None)])
    assert client.append(say("701")) == 702
    assert texts(store) == [str(n) for n in range(702)]


def test_an_interrupted_bulk_leaves_a_beginning_and_a_client_that_works(store: Store, client: Client) -> None:
    """If this failed, Ctrl-C in a bulk would leave gaps, or numbers that hide later events."""

    def interrupted() -> Iterator[tuple[MessageRecorded, str | None]]:
        yield from many(0, 6000, 100)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.append_many(interrupted())
    assert client.append_many([(say("next"), None)]) is not None
    client.finish()
    found = [t for t in texts(store) if t != "next"]
    assert found == [str(n) for n in range(len(found))]


def test_a_closed_client_takes_no_bulk(store: Store, client: Client) -> None:
    """If this failed, events after close would be recorded under a client that has told the recorder good-bye."""
    client.append_many(many(0, 2))
    client.close()
    with pytest.raises(LogError, match="closed"):
        client.append_many(many(2, 1))
    assert texts(store) == ["0", "1"]


class Script:
    """In place of an uplink: answers by a script, refuses numbers that do not follow, as a recorder does."""

    def __init__(self, *steps: Status | None) -> None:
        self.steps: deque[Status | None] = deque(steps)
        self.recorded: list[bytes] = []
        self.marks: dict[bytes, int] = {}
        self.waiting: dict[int, Answer] = {}
        self.lost = False
        self.posted = self.most = 0

    def post(self, raw: bytes, _deadline: float) -> int:
        """Take a request; a step of None loses the connection with all answers that were not collected."""
        if self.lost:
            raise Unreachable("gone")
        self.posted += 1
        step = self.steps.popleft() if self.steps else Status.OK
        if step is None:
            self.lost = True
        self.waiting[self.posted] = self._answer(unpack_request(raw), step or Status.OK)
        self.most = max(self.most, len(self.waiting))
        return self.posted

    def _answer(self, request: Any, status: Status) -> Answer:
        known = self.marks.get(request.producer, 0)
        if status is not Status.OK:
            return Answer(status, text="No space left on device")
        if known and request.first > known + 1:
            return Answer(Status.BAD, text="events never came")
        fresh = request.lines[max(0, known + 1 - request.first) :] if known else request.lines
        first = len(self.recorded) + 1
        self.recorded += fresh
        self.marks[request.producer] = max(known, request.first + len(request.lines) - 1)
        return Answer(Status.OK, first, len(self.recorded), len(request.lines) - len(fresh))

    def collect(self, number: int, _deadline: float) -> Answer:
        """The answer, unless the connection is lost."""
        if self.lost:
            raise Unreachable("gone")
        return self.waiting.pop(number)

    def drop(self) -> None:
        """Connect again."""
        self.lost = False
        self.waiting.clear()


LINES = [[line(f"{batch}:{n}") for n in range(3)] for batch in range(12)]
FLAT = [one for batch in LINES for one in batch]


def lane(script: Script, timeout_s: float = 5) -> Lane:
    """A lane over the script."""
    return Lane(script, "run", timeout_s)  # type: ignore[arg-type]


def test_requests_fly_together_but_never_more_than_the_window() -> None:
    """If this failed, each request would wait for the one before, or the memory for requests would not be bounded."""
    script = Script()
    assert lane(script).record(LINES) == 36
    assert script.recorded == FLAT
    assert script.most == bulk.WINDOW


@pytest.mark.parametrize("at", range(12))
def test_a_full_disk_leaves_a_beginning_and_says_how_long_it_is(at: int) -> None:
    """If this failed, events behind a refused one would be recorded, or the caller would not know where to go on."""
    script = Script(*[Status.OK] * at, Status.NO_ROOM)
    loading = lane(script)
    with pytest.raises(
        RecorderRefused, match=rf"No space left on device; the first {3 * at} of the events .*, no others"
    ):
        loading.record(LINES)
    assert script.recorded == FLAT[: 3 * at]
    assert loading.record(LINES[at:]) == 36
    assert script.recorded == FLAT


@pytest.mark.parametrize("at", range(12))
def test_a_lost_connection_is_made_again_and_nothing_is_doubled(at: int) -> None:
    """If this failed, what was in flight when the connection broke would be lost or recorded twice."""
    script = Script(*[Status.OK] * at, None, Status.OK, None)
    lane(script).record(LINES)
    assert script.recorded == FLAT


def test_a_recorder_that_stays_away_is_told() -> None:
    """If this failed, a bulk would hang for ever, or seem complete."""
    script = Script(*[Status.OK] * 4, *[None] * 1_000_000)
    began = time.monotonic()
    with pytest.raises(RecorderUnavailable, match=r"gone; the first 3 of .* for certain"):
        lane(script, 0.05).record(LINES)
    assert time.monotonic() - began < 5


def test_batches_stay_within_their_bounds() -> None:
    """If this failed, a request could exceed what the bus carries."""
    small, large = b"s" * 10, b"l" * 60_000
    made = list(batches([small] * 4500 + [large] * 10))
    assert [one for batch in made for one in batch] == [small] * 4500 + [large] * 10
    assert max(map(len, made)) <= bulk.BATCH_EVENTS
    assert max(sum(map(len, batch)) for batch in made) <= bulk.BATCH_BYTES
