"""The long form of the fault tests, for HEMRA_TORTURE_S seconds in all (an hour where it is not set).

Every run has another seed; a failure prints the scene and the cut, which rebuild the store whatever the seed was.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.bus_messages import Status, pack_append
from eventlog.client import Client
from eventlog.lock import NAME as LOCK
from eventlog.lock import holder
from eventlog.reader import read, stream_state
from eventlog.schemas.conversation import ToolCalled
from eventlog.store import Store
from eventlog.verify import verify
from tests.eventlog.conftest import line
from tests.faults.explorer import TRIED, Explorer
from tests.faults.live import Bystander, Live, connected, frame
from tests.faults.scenes import SCENES
from tests.faults.test_io_errors import ERRORS, calls_of, disturbed

#: Seconds that all tests of this file take together.
TORTURE_S = float(os.environ.get("HEMRA_TORTURE_S", "3600"))

pytestmark = [pytest.mark.torture, pytest.mark.timeout(TORTURE_S * 2 + 600)]


def test_power_cuts_without_end(quick: Path) -> None:
    """If this failed, there would be a power cut that `make test` does not know of."""
    end = time.monotonic() + TORTURE_S * 0.5
    rng = random.Random(os.urandom(8))
    before = len(TRIED)
    while time.monotonic() < end:
        name = f"{rng.choice([*SCENES])}/seed={rng.randrange(1 << 30)}"
        name += rng.choice(("", f"/pause={rng.randrange(1, 60)}", f"/kill={rng.randrange(1, 300)}",
                            f"/fail={rng.randrange(500)}:EIO:{rng.randrange(1, 9)}"))  # fmt: skip
        place = quick / "scene"
        explorer = Explorer(name, place)
        explorer.check_complete()
        cuts = explorer.cuts(rng.randrange(1 << 30))
        if not name.startswith("imports") and "fail" not in name and rng.random() < 0.3:
            name = f"{name}/again={rng.choice(cuts)}"
            explorer = Explorer(name, quick / "again")
        explorer.explore(explorer.left_behind() if explorer.scene.turn else (), 60)
        explorer.explore(explorer.endless(rng.randrange(1 << 30)), 20 if name.startswith("imports") else 300)
        for folder in quick.iterdir():
            shutil.rmtree(folder)
    assert len(TRIED) - before > TORTURE_S


def test_every_error_everywhere(quick: Path) -> None:
    """If this failed, there would be an error of the disk at some place that `make test` does not try."""
    end = time.monotonic() + TORTURE_S * 0.25
    rng = random.Random(os.urandom(8))
    calls = {scene: calls_of(scene, quick / scene) for scene in SCENES}
    done = 0
    while time.monotonic() < end:
        scene = rng.choice([*SCENES])
        place, times = rng.randrange(calls[scene]), rng.choice((1, 2, 3, 8, 30, 100))
        name = f"{scene}/seed={rng.randrange(1 << 30)}/fail={place}:{rng.choice(ERRORS)}:{times}"
        disturbed(name, quick / str(done), rng, cuts=6)
        shutil.rmtree(quick / str(done))
        done += 1
    assert done > TORTURE_S / 60


class Told:
    """Appends in every way that the client knows until `end`, and keeps what was acknowledged, by producer."""

    def __init__(self, end: float) -> None:
        self.end = end
        self.calls: dict[str, list[str]] = {}
        self.failures: list[BaseException] = []

    def next(self, name: str, offset: int = 0) -> ToolCalled:
        """A producer's next event, or the one so many after it."""
        mine = self.calls.setdefault(name, [])
        return ToolCalled(call=f"{name}:{len(mine) + offset}", name="t", arguments=None)

    def by_thread(self, client: Client, name: str) -> None:
        """One at a time, every second one emitted."""
        with self.noted():
            name = f"{name}-thread"
            while time.monotonic() < self.end:
                client.emit(self.next(name))
                client.append(self.next(name, 1))
                self.calls[name] += [f"{name}:{len(self.calls[name]) + n}" for n in range(2)]

    def by_loop(self, client: Client, name: str) -> None:
        """Tasks of an event loop."""

        async def one(name: str) -> None:
            while time.monotonic() < self.end:
                event = self.next(name)
                await asyncio.wait_for(client.append_async(event), 60)
                self.calls[name].append(event.call)

        async def all_of_them() -> None:
            await asyncio.gather(*(one(f"{name}-task{n}") for n in range(5)))

        with self.noted():
            asyncio.run(all_of_them())

    def in_bulk(self, client: Client, name: str) -> None:
        """Hundreds at a time."""
        with self.noted():
            name = f"{name}-bulk"
            while time.monotonic() < self.end:
                events = [self.next(name, n) for n in range(1500)]
                client.append_many((event, None) for event in events)
                self.calls[name] += [event.call for event in events]
                time.sleep(0.05)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """A failure of a thread is a failure of the test."""
        try:
            yield
        except BaseException as error:
            self.failures.append(error)
            raise


def test_recorders_killed_without_end(tmp_path: Path) -> None:
    """If this failed, a client would lose, double or reorder events at some instant at which its recorder dies."""
    end = time.monotonic() + TORTURE_S * 0.15
    store = Store.open(tmp_path / "s", create=True)
    told = Told(end)

    def produce(name: str) -> None:
        """Threads, a loop's tasks and bulks, each kind with a client of its own and all of them with one."""
        with Client.connect(store, "run", source=name) as client:
            kinds = {"thread": told.by_thread, "loop": told.by_loop, "bulk": told.in_bulk}
            meant = [work for kind, work in kinds.items() if name in (kind, "all")]
            works = [threading.Thread(target=work, args=(client, name)) for work in meant]
            for work in works:
                work.start()
            for work in works:
                work.join()

    rng = random.Random(os.urandom(8))
    kills, killed_at, again = 0, -1, False
    with Live(store) as live:
        producers = [threading.Thread(target=produce, args=(n,)) for n in ("thread", "loop", "bulk", "all")]
        for producer in producers:
            producer.start()
        while time.monotonic() < end:
            time.sleep(rng.random())
            pid = holder(store.stream_path("run") / LOCK)
            # One that dies three times while it comes up is taken for one that never will: on a machine that is
            # slower than the killing, every second one lives until it has recorded something.
            last = stream_state(store, "run").last_seq
            if pid is not None and (last > killed_at or not again):
                killed_at, again = last, last == killed_at
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
        for producer in producers:
            producer.join()
        live.gone()
    recorded = [event.data["call"] for event in read(store, "run")]
    assert told.failures == []
    for name, mine in told.calls.items():
        assert [call for call in recorded if call.startswith(f"{name}:")] == mine
    assert kills > TORTURE_S / 100
    assert verify(store).problems == []


def test_all_kinds_of_bad_company(tmp_path: Path) -> None:
    """If this failed, some mixture of silent, slow and vanishing peers would stop the recorder or make it grow."""
    end = time.monotonic() + TORTURE_S * 0.1
    store = Store.open(tmp_path / "s", create=True)
    rng = random.Random(os.urandom(8))
    whole = frame(pack_append(b"half".ljust(16), 1, [line("x" * 900)] * 900))
    with Live(store) as live:
        most = 0
        with Bystander(live) as bystander:
            peers = []
            while time.monotonic() < end:
                peer = connected(live.address.requests)
                peer.setblocking(False)
                peers.append(peer)
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    peer.send(whole[: rng.randrange(len(whole))])
                if len(peers) > 150 or rng.random() < 0.2:
                    peers.pop(rng.randrange(len(peers))).close()
                most = max(most, live.memory)
            for peer in peers:
                peer.close()
        bystander.unhindered()
        assert most < 120 << 20
        assert live.ask(pack_append(b"end".ljust(16), 1, [line("end")])).status is Status.OK
    assert verify(store).problems == []
