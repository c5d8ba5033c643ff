"""The bus: private addresses, many requests answered at once, nng's own sockets at either end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eventlog import bus
from eventlog.bus import GREETING, MAX_REQUEST, REP, SP, Address, BusError, address_of
from eventlog.bus_peer import Requester, Unreachable, Waker
from eventlog.bus_server import Received, Server
from eventlog.errors import StreamBusy


@pytest.fixture
def address() -> Iterator[Address]:
    """Free socket paths, short enough whatever the test's own folder is called."""
    with tempfile.TemporaryDirectory(prefix="hb-", dir="/tmp") as folder:
        base = Path(folder)
        yield Address(base / "x.req", base / "x.pub", base / "x.start")


class Echo:
    """A server in a thread that answers every request with the end of its own body, reversed; or never, if mute."""

    def __init__(self, address: Address, *, mute: bool = False) -> None:
        self.server = Server(address)
        self.asked = threading.Event()
        self._mute = mute
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            for request in self.server.receive(0.02):
                self.asked.set()
                if not self._mute:
                    self.server.answer(request, request.body[:-1025:-1])

    def __enter__(self) -> Echo:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.server.close()


def soon(seconds: float = 5.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds


def ask_once(address: Address, body: bytes) -> bytes:
    """The answer to one request over a connection of its own."""
    requester = Requester(address.requests, soon())
    try:
        return requester.request(body, soon())
    finally:
        requester.close()


def test_address_is_the_same_for_all_and_short(tmp_path: Path) -> None:
    """If this failed, producers would not find the recorder, or a deep store path would break nng."""
    deep = tmp_path / ("d" * 200) / "store"
    deep.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(deep)
    one = address_of(deep, "run")
    assert one == address_of(link, "run")
    assert len({one.requests, address_of(deep, "other").requests, address_of(tmp_path, "run").requests}) == 3
    assert all(len(os.fsencode(path)) <= bus.MAX_PATH for path in one)
    assert one.requests.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["open to others", "a link", "a file"])
def test_a_runtime_folder_of_another_shape_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """If this failed, another user could plant the folder and read or forge events."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    place = tmp_path / "hemra"
    if kind == "open to others":
        place.mkdir()
        place.chmod(0o755)
    elif kind == "a link":
        (tmp_path / "real").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "real")
    else:
        place.touch()
    with pytest.raises(BusError, match=str(place)):
        address_of(tmp_path, "run")


def test_a_runtime_folder_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a long XDG_RUNTIME_DIR would make every run impossible."""
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert not address_of(tmp_path, "run").requests.is_relative_to(long)


def test_requests_that_wait_are_taken_together_and_each_gets_its_answer(address: Address) -> None:
    """If this failed, there would be no group commit, or producers would get each other's answers."""
    server = Server(address)
    try:
        with ThreadPoolExecutor(40) as pool:
            bodies = [b"request %d" % n for n in range(40)]
            asked = [pool.submit(ask_once, address, body) for body in bodies]
            taken: list[Received] = []
            while len(taken) < 40:
                more = server.receive(5.0)
                assert more
                taken += more
            for request in reversed(taken):
                server.answer(request, request.body.upper())
            assert [a.result() for a in asked] == [b.upper() for b in bodies]
    finally:
        server.close()


def test_who_stays_awake_is_answered_and_gives_up_in_time_all_the_same(address: Address) -> None:
    """If this failed, an end that waits without sleeping would miss what comes, or wait beyond its time."""
    with Echo(address):
        requester = Requester(address.requests, soon())
        assert requester.request(b"abc", soon(), awake_until=soon()) == b"cba"
        requester.close()
    server = Server(address)
    begun = time.monotonic()
    assert server.receive(0.02, awake_until=begun + 60) == []
    assert 0.02 <= time.monotonic() - begun < 30
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask_once, address, b"abc")
        request = None
        while request is None:
            request = next(iter(server.receive(5.0, awake_until=soon())), None)
        server.answer(request, b"yes")
        assert asking.result(5) == b"yes"
    server.close()


def test_pynng_itself_can_ask_and_subscribe(address: Address) -> None:
    """If this failed, the recorder's sockets would not be nng on the wire."""
    import pynng

    with (
        Echo(address) as echo,
        pynng.Req0(recv_timeout=5000, send_timeout=5000) as req,
        pynng.Sub0(recv_timeout=100) as sub,
    ):
        req.dial(f"ipc://{address.requests}", block=True)
        req.send(b"abc")
        assert req.recv() == b"cba"
        sub.subscribe(b"")
        sub.dial(f"ipc://{address.wakes}", block=True)
        until = soon()
        while time.monotonic() < until:
            echo.server.wake()
            try:
                assert sub.recv()
            except pynng.Timeout:
                continue  # the subscription had not arrived yet
            break
        else:
            pytest.fail("no wake-up came")


def test_our_ends_talk_to_pynng_itself(address: Address) -> None:
    """If this failed, producers and followers would not be nng on the wire."""
    import pynng

    with (
        pynng.Rep0(listen=f"ipc://{address.requests}", recv_timeout=5000) as rep,
        pynng.Pub0(listen=f"ipc://{address.wakes}") as pub,
        ThreadPoolExecutor(1) as pool,
    ):
        requester = Requester(address.requests, soon())
        for body in (b"x", os.urandom(300_000)):
            answer = pool.submit(requester.request, body, soon())
            rep.send(rep.recv()[::-1])
            assert answer.result() == body[::-1]
        requester.close()
        waker = Waker(address.wakes)
        woken = pool.submit(waker.wait, 5.0)
        while not woken.done():
            pub.send(b"+")
            time.sleep(0.01)
        assert woken.result() is True
        waker.close()


def test_what_is_too_large_is_refused_before_it_is_sent(address: Address) -> None:
    """If this failed, nng would close the connection without a word and the producer would resend for ever."""
    with Echo(address):
        requester = Requester(address.requests, soon())
        with pytest.raises(ValueError, match="too large"):
            requester.request(b"x" * MAX_REQUEST, soon())
        largest = b"x" + b"y" * (MAX_REQUEST - 6) + b"z"
        assert requester.request(largest, soon()) == b"z" + b"y" * 1023
        requester.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0SP\0\0\x30\0\0" + b"\x01" + (1 << 40).to_bytes(8, "big"),
        b"\0SP\0\0\x30\0\0" + b"\x01" + (3).to_bytes(8, "big") + b"abc",
        b"\0SP\0\0\x30\0\0" + b"\xff" * 64,
        b"\0SP\0\0\x20\0\0",
    ],
)
def test_garbage_on_the_socket_harms_nobody(address: Address, raw: bytes) -> None:
    """If this failed, any process of the user could end a run's recorder."""
    with Echo(address), socket.socket(socket.AF_UNIX) as rogue:
        rogue.connect(str(address.requests))
        rogue.sendall(raw)
        requester = Requester(address.requests, soon())
        assert requester.request(b"still here", soon()) == b"ereh llits"
        requester.close()


def test_a_second_server_is_refused_and_a_dead_ones_socket_taken_over(address: Address) -> None:
    """If this failed, two recorders could listen at once, or none after a kill."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(address.requests))  # a socket file that nobody listens on, as kill -9 leaves it
    with Echo(address), pytest.raises(StreamBusy):
        Server(address)


def test_nobody_there_and_no_answer_end_in_time(address: Address) -> None:
    """If this failed, a producer without a recorder would wait for ever."""
    with pytest.raises(Unreachable):
        Requester(address.requests, soon(1))
    with Echo(address, mute=True):
        requester = Requester(address.requests, soon())
        began = time.monotonic()
        with pytest.raises(Unreachable, match="in time"):
            requester.request(b"never answered", soon(0.3))
        assert time.monotonic() - began < 3


def test_a_waker_stops_when_told_and_notices_the_recorders_end(address: Address) -> None:
    """If this failed, `tail -f` could not be ended, or would sleep through a restart."""
    with Echo(address):
        waker = Waker(address.wakes)
        stop = threading.Event()
        threading.Timer(0.1, stop.set).start()
        began = time.monotonic()
        assert waker.wait(30.0, stop) is False
        assert time.monotonic() - began < 1
        assert waker.wait(0.01) is False
    with pytest.raises(Unreachable):
        waker.wait(5.0)
    waker.close()


def test_ctrl_c_ends_a_wait_for_an_answer(address: Address) -> None:
    """If this failed, a person could not stop a producer whose recorder hangs."""
    script = (
        "import sys, time; from pathlib import Path; from eventlog.bus_peer import Requester\n"
        "r = Requester(Path(sys.argv[1]), time.monotonic() + 9)\nprint('asking', flush=True)\n"
        "r.request(b'x', time.monotonic() + 60)"
    )
    with (
        Echo(address, mute=True) as server,
        subprocess.Popen(
            [sys.executable, "-c", script, str(address.requests)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert server.asked.wait(10)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.wait(10)
        assert time.monotonic() - began < 2
        assert process.returncode in (-signal.SIGINT, 130)


def test_a_full_queue_is_waited_for(tmp_path: Path) -> None:
    """A recorder that many connect to at once would look dead, and another one would be started beside it."""
    path = tmp_path / "s"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(1)
    listener.settimeout(10)
    opened = [listener]

    def serve(connections: int) -> None:
        for _ in range(connections):
            opened.append(listener.accept()[0])
            opened[-1].sendall(GREETING.pack(SP, REP, 0))

    try:
        queued = 0
        while True:  # fill the queue
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            peer.setblocking(False)
            opened.append(peer)
            try:
                peer.connect(str(path))
            except BlockingIOError:
                break
            queued += 1
        server = threading.Timer(0.2, serve, (queued + 1,))
        server.start()
        Requester(path, time.monotonic() + 10).close()
        server.join()
    finally:
        for each in opened:
            each.close()
