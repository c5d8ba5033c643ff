"""Both sides of a mirror killed again and again while a run is recorded: never damaged, identical at last."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from eventlog.client import Client
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from tests.eventlog.mirroring import HEMRA, ServeCommand, assert_identical, environment, event

pytestmark = [pytest.mark.torture, pytest.mark.timeout(300)]
SECONDS = 60.0


class Producer(threading.Thread):
    """Appends events of all sizes through a recorder that is opened anew now and then."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        super().__init__()
        self._store, self._chance = store, chance
        self._ended = threading.Event()
        with StreamWriter.open(store, "run", create=True) as writer:
            writer.append(event(1))
        self.client = self._connect()

    def _connect(self) -> Client:
        return Client.connect(self._store, "run", source="torture")

    def run(self) -> None:
        """Until `finish`."""
        number = 1
        while not self._ended.wait(self._chance.random() * 0.02):
            number += 1
            self.client.append(event(number, self._chance.choice([40, 400, 4_000, 40, 400, 90_000])))
            if number % 500 == 0:
                self.client.close()
                self.client = self._connect()

    def finish(self) -> None:
        """End the run."""
        self._ended.set()
        self.join()
        self.client.finish()
        self.client.close()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("move", ["pull", "push"])
def test_both_sides_are_killed_at_random(tmp_path: Path, move: str, seed: int) -> None:
    """An instant that no named crash point covers must be as harmless as those that one does."""
    chance = random.Random(seed)
    recorded, copied = (Store.open(tmp_path / name, create=True) for name in ("recorded", "copied"))
    served, mine = (recorded, copied) if move == "pull" else (copied, recorded)
    home = tmp_path / "home"
    producer = Producer(recorded, random.Random(seed))
    server = ServeCommand(served.path, home)

    def moving() -> subprocess.Popen[str]:
        command = [*HEMRA, "log", move, "--store", str(mine.path), str(server.address), "run", "-f", "--timeout", "60",
                   "--fingerprint", server.fingerprint]  # fmt: skip
        return subprocess.Popen(
            command, env=environment(home), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )

    producer.start()
    mover, reached, end = moving(), 0, time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            threading.Event().wait(chance.random() * 2)
            assert mover.poll() is None, mover.communicate()
            if chance.random() < 0.6:
                mover.kill()
                mover.communicate()
            else:
                server.end(signal.SIGKILL)
            if copied.streams():
                report = verify(copied, ["run"])
                assert [str(p) for p in report.problems if p.severity == "error"] == []
                assert report.streams[0].events >= reached
                reached = report.streams[0].events
            if mover.poll() is not None:
                mover = moving()
            else:
                server = ServeCommand(served.path, home, listen=str(server.address))
    finally:
        producer.finish()
    _, told = mover.communicate(timeout=60)
    server.end(signal.SIGINT)
    assert mover.returncode == 0, told
    assert_identical(copied, recorded)
