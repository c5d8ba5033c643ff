"""A real recorder process for the tests, its figures, and peers that behave badly."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from eventlog.bus import GREETING, PUB, REP, REQ, SP, SUB, address_of
from eventlog.bus_messages import Answer, Kind, Status, pack_append, pack_plain, unpack_answer
from eventlog.bus_peer import Requester
from eventlog.lock import NAME as LOCK
from eventlog.lock import is_held
from eventlog.recorder_start import start_recorder
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.eventlog.conftest import line

_FRAME = struct.Struct(">BQ")


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for a condition; fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


class Live:
    """The recorder of a new stream `run`, held by this process. Use as a context manager."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.address = address_of(store.path, "run")
        if "run" not in store.streams():
            StreamWriter.open(store, "run", create=True).close()
        self.start()

    def start(self) -> None:
        """Start it; the one before must have ended."""
        start_recorder(self.store, "run", holder_pid=os.getpid(), deadline=time.monotonic() + 60)
        self.process = psutil.Process(json.loads(self.ask(pack_plain(Kind.STATUS)).text)["pid"])

    @property
    def memory(self) -> int:
        """Resident bytes of the recorder."""
        return int(self.process.memory_info().rss)

    def ask(self, request: bytes, seconds: float = 60.0) -> Answer:
        """One request over a connection of its own."""
        requester = Requester(self.address.requests, time.monotonic() + seconds)
        try:
            return unpack_answer(requester.request(request, time.monotonic() + seconds))
        finally:
            requester.close()

    def kill(self) -> None:
        """End it as a power cut would, but for the disk."""
        self.process.kill()
        self.gone()

    def gone(self) -> None:
        """Wait for its end."""
        until(lambda: not is_held(self.store.stream_path("run") / LOCK))

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        self.gone()


class Bystander:
    """A producer that appends one event after the other all the time, and how long it waited for each answer."""

    def __init__(self, live: Live, name: bytes = b"bystander") -> None:
        self.waits: list[float] = []
        self.refused: list[Answer] = []
        self._producer = name.ljust(16)
        self._live = live
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        requester = Requester(self._live.address.requests, time.monotonic() + 60)
        number = 1
        while not self._stop.is_set():
            began = time.monotonic()
            text = f"{self._producer.decode().strip()}:{number}"
            request = pack_append(self._producer, number, [line(text)])
            answer = unpack_answer(requester.request(request, time.monotonic() + 60))
            self.waits.append(time.monotonic() - began)
            if answer.status is Status.OK:
                number += 1
            else:
                self.refused.append(answer)
            self._stop.wait(0.002)
        requester.close()

    def __enter__(self) -> Bystander:
        self._thread.start()
        until(lambda: len(self.waits) > 5)
        self.waits.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def unhindered(self) -> None:
        """It got answers all the time: nobody's silence was waited for. The bounds leave room for a busy machine."""
        waits = sorted(self.waits)
        assert len(waits) > 20, f"only {len(waits)} answers"
        assert waits[len(waits) // 2] < 0.25, (
            f"half of the answers took more than {waits[len(waits) // 2]:.2f} s"
        )
        assert waits[-1] < 5.0, f"an answer took {waits[-1]:.1f} s"
        assert self.refused == []


def connected(path: Path, protocol: int = REQ) -> socket.socket:
    """A greeted connection that then does nothing."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(30)
    peer.connect(str(path))
    peer.sendall(GREETING.pack(SP, protocol, 0))
    greeting = b""
    while len(greeting) < GREETING.size and (piece := peer.recv(8)):
        greeting += piece
    expected = REP if protocol == REQ else PUB
    assert greeting == GREETING.pack(SP, expected, 0) or protocol == SUB
    return peer


def frame(body: bytes, number: int = 1) -> bytes:
    """A request as it goes over the socket."""
    return _FRAME.pack(1, len(body) + 4) + (0x80000000 | number).to_bytes(4, "big") + body
