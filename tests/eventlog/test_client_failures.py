"""The client when the disk, the recorder or the caller fails: told to whoever waits, nothing lost in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from eventlog import client as client_module
from eventlog import outbox, sender
from eventlog.bus_messages import Answer, Status, unpack_request
from eventlog.client import Client
from eventlog.errors import LogError, RecorderRefused, RecorderUnavailable
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store
from eventlog.stream import StreamWriter


def say(text: str) -> MessageRecorded:
    """A small event."""
    return MessageRecorded(role="user", text=text)


class FakeUplink:
    """Answers in place of a recorder, by a script of statuses or exceptions; OK when the script is over."""

    connected = True

    def __init__(self, *script: Status | BaseException) -> None:
        self.script = list(script)
        self.recorded: list[str] = []
        self.requests: list[Any] = []
        self.gate = threading.Event()
        self.gate.set()

    def ask(self, raw: bytes, deadline: float, awake_until: float = 0.0) -> Answer:
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
    monkeypatch.setattr(sender, "RETRY_S", 0.3)
    script.script = [Status.NO_ROOM] * 50
    client.emit(say("a"))
    client.emit(say("b"))
    wait_for(lambda: not client._outbox.busy())
    script.script = []
    with pytest.raises(RecorderRefused, match=r"stream run that are not recorded: 2 .*No space left"):
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
    with pytest.raises(RecorderUnavailable, match=r"stream run that are not recorded: 1 "):
        client.flush()
    assert client.append(say("c")) == 1


def test_a_fault_in_the_background_reaches_who_waits(fake: tuple[Client, FakeUplink]) -> None:
    """If this failed, a fault of ours in the sending thread would leave everybody waiting for ever."""
    client, script = fake
    script.script = [ZeroDivisionError("a fault of ours")]
    with pytest.raises(LogError, match="a fault of ours"):
        client.append(say("x"))
    assert client.append(say("y")) is not None


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
