"""Peers of the recorder that stop, vanish, stay silent or do not read: it stays small, and nobody else waits.

The recorder is a real process. While others misbehave, a bystander appends one event after the other and takes the
time of each answer.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from eventlog.bus import MAX_REQUEST, SUB
from eventlog.bus_messages import Kind, Status, pack_append, pack_plain, unpack_answer
from eventlog.bus_peer import Requester
from eventlog.reader import read
from eventlog.store import Store
from eventlog.verify import verify
from tests.eventlog.conftest import line
from tests.faults.live import Bystander, Live, connected, frame, until

ROOT = Path(__file__).parents[2]
MB = 1 << 20
#: What the recorder may take in all, whatever its peers do, and how much more than at rest.
MOST, GROWTH = 120 * MB, 64 * MB
FOLLOWER = """
import sys
from eventlog.follow import follow
from eventlog.store import Store
for event in follow(Store.open(sys.argv[1]), "run"):
    print(event.seq, flush=True)
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A recorder with an empty stream."""
    with Live(Store.open(tmp_path / "s", create=True)) as recorder:
        yield recorder
        assert verify(recorder.store).ok


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    """Connections that are closed at the end; as many as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened: list[socket.socket] = []
    yield opened
    for connection in opened:
        connection.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def bounded(live: Live) -> Iterator[None]:
    """The recorder's memory stays within its bounds, looked at while it is under way and at the end."""
    before = live.memory
    yield
    assert live.memory < MOST, f"{live.memory / MB:.0f} MB"
    assert live.memory - before < GROWTH, f"{before / MB:.0f} MB before, {live.memory / MB:.0f} MB after"


def producer(live: Live, name: str, events: int) -> subprocess.Popen[str]:
    """A process whose client appends and emits."""
    argv = [
        sys.executable,
        "-m",
        "tests.eventlog.load_producer",
        str(live.store.path),
        name,
        "4",
        str(events),
    ]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def test_producers_that_are_stopped_and_go_on(live: Live) -> None:
    """If this failed, a suspended producer would stop the recording of all others, or lose what it had in hand."""
    with Bystander(live) as bystander, bounded(live):
        processes = [producer(live, f"p{n}", 60) for n in range(3)]
        for turn in range(6):
            process = processes[turn % 3]
            seen = len(bystander.waits)
            process.send_signal(signal.SIGSTOP)
            until(lambda seen=seen: len(bystander.waits) > seen + 20)
            process.send_signal(signal.SIGCONT)
        lines = [process.communicate(timeout=120)[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0]
    bystander.unhindered()
    recorded = [event.data["call"] for event in read(live.store, "run")]
    assert len(recorded) == len(set(recorded))
    for number, said in enumerate(lines):
        assert {text.split()[1] for text in said.splitlines()} <= set(recorded)
        assert sum(call.startswith(f"p{number}.") for call in recorded) == 240


def test_producers_that_vanish(live: Live) -> None:
    """If this failed, a producer that is killed in mid-request would leave the others waiting, or half an event."""
    with Bystander(live) as bystander, bounded(live):
        for number in range(4):
            process = producer(live, f"v{number}", 100_000)
            assert process.stdout is not None
            answered = [process.stdout.readline() for _ in range(50)]
            process.send_signal(signal.SIGSTOP)
            process.kill()
            process.communicate()
            recorded = {event.data["call"] for event in read(live.store, "run")}
            assert {text.split()[1] for text in answered} <= recorded
    bystander.unhindered()


def test_half_a_request(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, whoever stops in the middle of a request would stop everybody, or fill the recorder's memory."""
    whole = frame(pack_append(b"half".ljust(16), 1, [line("x" * 900)] * 900))
    with Bystander(live) as bystander, bounded(live):
        for number in range(150):
            peer = connected(live.address.requests)
            sockets.append(peer)
            peer.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                peer.send(whole[: 100 + number * 5000])
        seen = len(bystander.waits)
        until(lambda: len(bystander.waits) > seen + 100)
    bystander.unhindered()
    assert not any("x" * 900 in str(event.data) for event in read(live.store, "run"))


def test_whoever_never_reads_its_answers(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, answers that nobody takes would block the recorder or gather in its memory."""
    question = frame(pack_plain(Kind.STATUS)) * 200
    with Bystander(live) as bystander, bounded(live):
        for _ in range(10):
            peer = connected(live.address.requests)
            sockets.append(peer)
            peer.settimeout(0.05)
            with contextlib.suppress(TimeoutError, ConnectionError):
                for _ in range(60):
                    peer.sendall(question)
        seen = len(bystander.waits)
        until(lambda: len(bystander.waits) > seen + 50)
    bystander.unhindered()


def test_thousands_that_say_nothing(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, idle connections would take the recorder's time or memory, or keep new producers out."""
    with Bystander(live) as bystander, bounded(live):
        for number in range(2000):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sockets.append(peer)
            peer.connect(str(live.address.requests))
            if number % 2:
                peer.send(b"\0SP\0")
        seen = len(bystander.waits)
        assert live.ask(pack_append(b"late".ljust(16), 1, [line("late")])).status is Status.OK
        until(lambda: len(bystander.waits) > seen + 50)
    bystander.unhindered()


def exhaust(live: Live, sockets: list[socket.socket]) -> None:
    """Open more connections than the recorder may have file descriptors."""
    limit = 200
    live.process.rlimit(psutil.RLIMIT_NOFILE, (limit, limit))
    for _ in range(limit + 100):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sockets.append(peer)
        peer.connect(str(live.address.requests))
    until(lambda: live.process.num_fds() >= limit - 40)


def test_more_connections_than_file_descriptors(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, silent connections would end the recorder, or keep it from those that it has."""
    with Bystander(live) as bystander, bounded(live):
        exhaust(live, sockets)
        seen = len(bystander.waits)
        until(lambda: len(bystander.waits) > seen + 50)
    bystander.unhindered()
    for connection in sockets:
        connection.close()
    assert live.ask(pack_append(b"late".ljust(16), 1, [line("late")])).status is Status.OK
    assert live.ask(pack_plain(Kind.FINISH)).status is Status.OK


def test_waiting_connections_cost_no_time(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, one process with too many connections would take a whole processor from the machine."""
    exhaust(live, sockets)
    spent = sum(live.process.cpu_times()[:2])
    switches = live.process.num_ctx_switches()
    time.sleep(1.0)
    used = sum(live.process.cpu_times()[:2]) - spent
    involuntary = live.process.num_ctx_switches().involuntary - switches.involuntary
    assert used < 0.1, f"{used:.2f} s of processor time for doing nothing, put aside {involuntary} times"


def test_connections_leave_it_its_own_files(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, silent connections would keep a run from being recorded, or its stream from being sealed."""
    requester = Requester(live.address.requests, time.monotonic() + 60)
    exhaust(live, sockets)
    request = pack_append(b"own files".ljust(16), 1, [line("x")])
    assert unpack_answer(requester.request(request, time.monotonic() + 60)).status is Status.OK
    answer = unpack_answer(requester.request(pack_plain(Kind.FINISH), time.monotonic() + 60))
    requester.close()
    assert answer.status is Status.OK, answer.text


def test_subscribers_that_are_stopped_vanish_or_never_read(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, a suspended `hemra tail` would stop the recording, or miss events when it goes on."""
    argv = [sys.executable, "-c", FOLLOWER, str(live.store.path)]
    followers = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)]
    stopped, killed = followers
    live.ask(pack_append(b"first".ljust(16), 1, [line("first")]))
    assert [follower.stdout.readline() for follower in followers if follower.stdout] == ["1\n", "1\n"]
    for follower in followers:
        follower.send_signal(signal.SIGSTOP)
    killed.kill()
    killed.communicate()
    sockets.extend(connected(live.address.wakes, SUB) for _ in range(50))
    with Bystander(live) as bystander, bounded(live):
        lines = [line("y" * 200)] * 500
        for number in range(60):
            assert live.ask(pack_append(b"many".ljust(16), 1 + 500 * number, lines)).status is Status.OK
    bystander.unhindered()
    assert live.ask(pack_plain(Kind.FINISH)).status is Status.OK
    total = sum(1 for _ in read(live.store, "run"))
    stopped.send_signal(signal.SIGCONT)
    said, _ = stopped.communicate(timeout=120)
    assert [int(seq) for seq in said.split()] == list(range(2, total + 1))


def test_the_largest_requests_of_many_at_once(live: Live, sockets: list[socket.socket]) -> None:
    """If this failed, memory would grow with the number of producers that send as much as they may."""
    big = [line("z" * 60_000)] * 16
    whole = frame(pack_append(b"0".ljust(16), 1, big))
    assert len(whole) < MAX_REQUEST
    with bounded(live):
        for number in range(24):
            peer = connected(live.address.requests)
            sockets.append(peer)
            peer.sendall(frame(pack_append((b"%d" % number).ljust(16), 1, big)))
        for peer in sockets:
            peer.settimeout(60)
            assert peer.recv(64)
    assert sum(1 for _ in read(live.store, "run")) == 24 * 16
