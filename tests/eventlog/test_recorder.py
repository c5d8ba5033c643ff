"""The recorder process: one a stream, as long as somebody needs it, closing cleanly, never taken down by a peer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlog import anchor as anchors
from eventlog.bus import address_of
from eventlog.bus_messages import Answer, Kind, Status, pack_append, pack_hello, pack_plain, unpack_answer
from eventlog.bus_peer import Requester, Unreachable
from eventlog.bus_server import Received
from eventlog.errors import DamageError, RecorderRefused, StreamBusy, StreamNotFound
from eventlog.holders import STARTER_S, Holders
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.reader import read, stream_state
from eventlog.recorder import Recorder
from eventlog.recorder_start import start_recorder
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from eventlog.verify import verify
from tests.eventlog.conftest import line

P1, P2 = b"1" * 16, b"2" * 16


def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    """Wait for a condition; fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


def free(store: Store, stream: str = "run") -> bool:
    """Whether nobody writes the stream."""
    return not is_held(store.stream_path(stream) / LOCK)


def ask(store: Store, request: bytes, stream: str = "run") -> Answer:
    """One request to the live recorder."""
    requester = Requester(address_of(store.path, stream).requests, time.monotonic() + 5)
    try:
        return unpack_answer(requester.request(request, time.monotonic() + 10))
    finally:
        requester.close()


@pytest.fixture
def stream(store: Store) -> Iterator[Store]:
    """A store with an empty stream `run`; its recorder, if any, has ended when the test is over."""
    StreamWriter.open(store, "run", create=True).close()
    yield store
    if not free(store):
        os.kill(int((store.stream_path("run") / LOCK).read_text()), signal.SIGTERM)
        until(lambda: free(store))


def start(store: Store, holder: int | None = None) -> None:
    """Start the recorder of `run`, held by this process unless said otherwise."""
    start_recorder(store, "run", holder_pid=holder or os.getpid(), deadline=time.monotonic() + 20)


def test_append_is_answered_with_its_seqs_and_recorded_once(stream: Store) -> None:
    """If this failed, producers would not know what is safe, or a resend would be doubled."""
    start(stream)
    assert ask(stream, pack_append(P1, 1, [line("a"), line("b")])) == (Status.OK, 1, 2, 0, "")
    assert ask(stream, pack_append(P1, 2, [line("b"), line("c")])) == (Status.OK, 3, 3, 1, "")
    assert ask(stream, pack_append(P1, 1, [line("a")])) == (Status.OK, 0, 0, 1, "")
    assert ask(stream, pack_append(P1, 9, [line("z")])).status is Status.BAD
    assert [e.data["call"] for e in read(stream, "run")] == ["a", "b", "c"]
    about = json.loads(ask(stream, pack_plain(Kind.STATUS)).text)
    assert about["last_seq"] == 3
    assert about["holders"] == [os.getpid()]


def test_it_ends_when_its_last_holder_died(stream: Store) -> None:
    """If this failed, recorders of dead runs would pile up and keep their streams locked."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        start(stream, holder.pid)
        ask(stream, pack_append(P1, 1, [line()]))
        recorder = psutil.Process(json.loads(ask(stream, pack_plain(Kind.STATUS)).text)["pid"])
        holder.kill()
        holder.wait()
        until(lambda: free(stream))
    until(lambda: not recorder.is_running())
    mark = anchors.load(stream.stream_path("run"))
    assert mark is not None
    assert (mark.state, mark.last) == (anchors.CLOSED, 1)


def test_it_stays_while_one_of_two_holders_lives_and_ends_after_the_last_bye(stream: Store) -> None:
    """If this failed, one producer's end would take the recorder away from another."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        start(stream)
        ask(stream, pack_hello(P1, os.getpid()))
        ask(stream, pack_hello(P2, other.pid))
        ask(stream, pack_plain(Kind.BYE, P1))
        assert json.loads(ask(stream, pack_plain(Kind.STATUS)).text)["holders"] == [other.pid]
        time.sleep(2.6)  # longer than it lingers without holders
        assert not free(stream)
        ask(stream, pack_plain(Kind.BYE, P2))
        until(lambda: free(stream))
        other.kill()


@pytest.mark.parametrize(("name", "ends"), [("SIGTERM", True), ("SIGINT", False), ("SIGHUP", False)])
def test_signals(stream: Store, name: str, ends: bool) -> None:
    """If this failed, Ctrl-C in a terminal would tear the log away under a run that cancels in order."""
    start(stream)
    ask(stream, pack_append(P1, 1, [line()]))
    os.kill(json.loads(ask(stream, pack_plain(Kind.STATUS)).text)["pid"], getattr(signal, name))
    if ends:
        until(lambda: free(stream))
        mark = anchors.load(stream.stream_path("run"))
        assert mark is not None
        assert mark.state == anchors.CLOSED
    else:
        assert ask(stream, pack_append(P1, 2, [line()])).last == 2


def test_finish_seals_answers_and_ends(stream: Store) -> None:
    """If this failed, a finished run would stay open, unsealed, or its engine would wait for ever."""
    start(stream)
    ask(stream, pack_append(P1, 1, [line(str(n)) for n in range(50)]))
    assert ask(stream, pack_plain(Kind.FINISH)) == (Status.OK, 0, 50, 0, "")
    until(lambda: free(stream))
    state = stream_state(stream, "run")
    assert (state.finished, state.segments, state.sealed, state.last_seq) == (True, 1, 1, 50)
    assert verify(stream).problems == []


def test_of_many_starters_one_wins(stream: Store) -> None:
    """If this failed, two recorders could write one stream, or none would come up."""
    outcomes: list[str] = []

    def try_it() -> None:
        try:
            start(stream)
            outcomes.append("won")
        except StreamBusy as busy:
            outcomes.append("busy" if "being written" in str(busy) else str(busy))

    threads = [threading.Thread(target=try_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["busy", "busy", "busy", "won"]
    assert ask(stream, pack_append(P1, 1, [line()])).last == 1


def test_why_it_cannot_start_is_said(stream: Store) -> None:
    """If this failed, a damaged or missing stream would look like a recorder that is merely slow."""
    with pytest.raises(StreamNotFound, match="nowhere"):
        start_recorder(stream, "nowhere", holder_pid=os.getpid(), deadline=time.monotonic() + 20)
    with StreamWriter.open(stream, "run") as writer:
        writer.commit([Incoming(P1, 1, [line()])])
    path = list_segments(stream.stream_path("run"))[0].path
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DamageError) as caught:
        start(stream)
    assert caught.value.path == path


class FakeServer:
    """Collects answers in place of the bus, and gives out groups of requests by a script."""

    def __init__(self, *groups: list[Received]) -> None:
        self.answers: dict[int, Answer] = {}
        self.waiting: dict[int, Answer] = {}
        self.wakes = 0
        self.groups = list(groups)
        self.when_empty: Callable[[], None] = lambda: None

    def receive(self, timeout_s: float, awake_until: float = 0.0) -> list[Received]:
        """The next group."""
        if not self.groups:
            self.when_empty()
            return []
        return self.groups.pop(0)

    def answer_later(self, request: Received, body: bytes) -> None:
        """Keep the answer by the request's number."""
        self.waiting[request.peer] = unpack_answer(body)

    def send_answers(self) -> None:
        """Let it count as given."""
        self.answers |= self.waiting

    def wake(self) -> None:
        """Count."""
        self.wakes += 1

    def close(self) -> None:
        """Nothing is open."""


def serve(writer: StreamWriter, bodies: list[bytes]) -> list[Answer]:
    """Answers of a recorder to one group of requests, in their order."""
    server = FakeServer()
    recorder = Recorder(writer, server, Holders(os.getpid()))  # type: ignore[arg-type]
    recorder.serve([Received(body, number) for number, body in enumerate(bodies)])
    return [server.answers[number] for number in range(len(bodies))]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.binary(max_size=120), st.integers(0, 3)), max_size=12))
def test_whatever_peers_send_the_good_is_stored_and_the_bad_refused(
    tmp_path_factory: pytest.TempPathFactory, group: list[bytes | int]
) -> None:
    """If this failed, a bad request could take others of its group with it, or crash the recorder."""
    store = Store.open(tmp_path_factory.mktemp("fuzz") / "s", create=True)
    number, expected, bodies = 1, [], []
    for item in group:
        if isinstance(item, bytes):
            bodies.append(b"\x01\x02" + item)  # looks like an append as far as its head goes
        else:
            bodies.append(pack_append(P1, number, [line(str(number + n)) for n in range(item + 1)]))
            expected += [str(number + n) for n in range(item + 1)]
            number += item + 1
    with StreamWriter.open(store, "run", create=True) as writer:
        answers = serve(writer, bodies)
    wanted = [Status.BAD if isinstance(item, bytes) else Status.OK for item in group]
    assert [answer.status for answer in answers] == wanted
    assert [event.data["call"] for event in read(store, "run")] == expected


def test_a_disk_that_refuses_is_said_to_all_and_survived(
    stream: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, events would be acknowledged that are not on disk, or the recorder would die of a full disk."""
    with StreamWriter.open(stream, "run") as writer:
        real = writer.commit

        def full(batch: object) -> None:
            raise RecorderRefused("cannot write to /x: No space left on device")

        monkeypatch.setattr(writer, "commit", full)
        bodies = [pack_append(P1, 1, [line("a")]), b"rubbish", pack_append(P2, 1, [line("b")])]
        answers = serve(writer, bodies)
        assert [answer.status for answer in answers] == [Status.NO_ROOM, Status.BAD, Status.NO_ROOM]
        assert "No space left on device" in answers[0].text
        monkeypatch.setattr(writer, "commit", real)
        assert [answer.last for answer in serve(writer, bodies)] == [1, 0, 2]


def test_on_a_slow_disk_a_group_waits_for_producers_that_are_about_to_send_again(
    stream: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, producers would fall into two halves that take turns, and each sync would serve one half."""
    both = [Received(pack_append(P1, 1, [line("a")]), 0), Received(pack_append(P2, 1, [line("b")]), 1)]
    apart = [[Received(pack_append(P1, 2, [line("c")]), 2)], [Received(pack_append(P2, 2, [line("d")]), 3)]]
    commits = {}
    for gather_from_s in (0.0, 1000.0):
        monkeypatch.setattr("eventlog.recorder.GATHER_FROM_S", gather_from_s)
        server = FakeServer(both, *apart)
        recorder = Recorder(StreamWriter.open(stream, "run"), server, Holders(os.getpid()))  # type: ignore[arg-type]
        server.when_empty = recorder.stop
        recorder.run()
        commits[gather_from_s] = recorder._commits
        assert set(server.answers) == {0, 1, 2, 3}
    assert commits == {0.0: 2, 1000.0: 3}


@pytest.mark.parametrize("wake_s", [0.0, 3600.0])
def test_followers_are_told_of_the_last_of_many_commits(
    stream: Store, monkeypatch: pytest.MonkeyPatch, wake_s: float
) -> None:
    """If this failed, a tail would stand still at the end of a burst, or never move while one goes on."""
    monkeypatch.setattr("eventlog.recorder.WAKE_S", wake_s)
    groups = [[Received(pack_append(P1, n, [line(str(n))]), n)] for n in range(1, 8)]
    server = FakeServer(*groups)
    recorder = Recorder(StreamWriter.open(stream, "run"), server, Holders(os.getpid()))  # type: ignore[arg-type]
    waits: list[float] = []
    told: list[int] = []
    real = server.receive

    def receive(timeout_s: float, awake_until: float = 0.0) -> list[Received]:
        waits.append(timeout_s)
        told.append(server.wakes)
        if len(waits) > 9:
            recorder.stop()
        return real(timeout_s, awake_until)

    server.receive = receive  # type: ignore[method-assign]
    recorder.run()
    assert recorder._commits == 7
    assert server.wakes == (7 if wake_s == 0 else 2), "the first and the last"
    assert told[-1] == server.wakes, "they are told before the recorder waits for more"
    assert waits[-1] > 0
    assert all(wait == 0 for wait in waits[2:8]) or wake_s == 0


def test_rubbish_over_the_real_socket_leaves_it_serving(stream: Store) -> None:
    """If this failed, some request would end the live process although the checks above pass."""
    start(stream)
    requester = Requester(address_of(stream.path, "run").requests, time.monotonic() + 5)
    for length in range(1, 200):
        answer = unpack_answer(requester.request(os.urandom(length), time.monotonic() + 5))
        assert answer.status is Status.BAD
    requester.close()
    assert ask(stream, pack_append(P1, 1, [line()])).last == 1


@pytest.mark.parametrize(
    "point", ["commit.before_sync", "commit.after_sync", "anchor.after_write", "commit.after_anchor"]
)
def test_dying_before_the_answer_loses_and_doubles_nothing(
    stream: Store, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """If this failed, a resend after a crash between sync and answer would be recorded twice, or an event lost."""
    monkeypatch.setenv("HEMRA_CRASH_AT", f"{point}:2")
    start(stream)
    monkeypatch.delenv("HEMRA_CRASH_AT")
    assert ask(stream, pack_append(P1, 1, [line("a")])).last == 1
    with pytest.raises(Unreachable):
        ask(stream, pack_append(P1, 2, [line("b"), line("c")]))
    until(lambda: free(stream))
    start(stream)
    answer = ask(stream, pack_append(P1, 2, [line("b"), line("c")]))
    assert answer.status is Status.OK
    ask(stream, pack_append(P2, 1, [line("d")]))
    assert [e.data["call"] for e in read(stream, "run")] == ["a", "b", "c", "d"]


def test_a_reused_pid_is_another_process(tmp_path: Path) -> None:
    """If this failed, an unrelated process with a dead engine's pid would keep a recorder alive."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        holders = Holders(process.pid)
        assert holders.any_alive()
        process.kill()  # not yet waited for: a zombie still has its pid
        until(lambda: not holders.any_alive())
    holders.add(b"x", process.pid)
    assert not holders.any_alive()
    assert holders.pids() == []


def test_a_starter_that_never_says_hello_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a producer that gave up while its recorder came up would keep it alive for as long as itself."""
    holders = Holders(os.getpid())
    now = time.monotonic()
    assert holders.any_alive()
    monkeypatch.setattr(time, "monotonic", lambda: now + STARTER_S)
    assert not holders.any_alive()
    holders.add(b"x", os.getpid())
    assert holders.any_alive()
