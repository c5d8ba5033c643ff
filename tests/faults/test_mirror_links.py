"""Mirrors over real links between two hosts: cut, slow, lossy, with either side killed; the copy ends identical."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.mirror.reconnect import RESUME_S
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.eventlog.mirroring import HEMRA, ROOT, ServeCommand, assert_identical, environment, event, sound

from .links import Hosts, LossyLink, VethLink, lossy, two_hosts, veth

pytestmark = pytest.mark.timeout(120)


class Scene:
    """A store on each of two hosts, a server on one, and pulls on the other."""

    def __init__(self, tmp_path: Path, hosts: Hosts, address: str) -> None:
        self.hosts = hosts
        self.home = tmp_path / "home"
        self.there = Store.open(tmp_path / "there", create=True)
        self.here = tmp_path / "here"
        self.listen = f"tls+tcp://{address}:4367"
        self.server = self.serve()

    def serve(self) -> ServeCommand:
        """Start the server of the host `there`."""
        return ServeCommand(self.there.path, self.home, listen=self.listen, before=self.hosts.there)

    def pull(self, *options: str) -> subprocess.Popen[str]:
        """Start a pull of the run on the host `here`."""
        command = [*self.hosts.here, *HEMRA, "log", "pull", "--store", str(self.here), self.listen, "--fingerprint",
                   self.server.fingerprint, *options]  # fmt: skip
        return subprocess.Popen(
            command, env=environment(self.home), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )

    def reached(self, run: str = "run") -> int:
        """The last event of the copy."""
        path = self.here / "log" / run
        mark = anchors.load(path) if path.is_dir() else None
        return mark.last if mark is not None else 0

    def wait(self, until: Callable[[], bool], pull: subprocess.Popen[str], within_s: float = 30) -> float:
        """Wait for a fact; how long it took."""
        began = time.monotonic()
        while not until():
            assert pull.poll() is None, pull.stderr.read() if pull.stderr else ""
            assert time.monotonic() - began < within_s, f"not within {within_s} s; at event {self.reached()}"
            threading.Event().wait(0.02)
        return time.monotonic() - began

    def gathered(self) -> int:
        """Bytes of what lies aside, not yet whole."""
        return sum(p.stat().st_size for p in (self.here / "log").glob("run/.*.part"))


@contextlib.contextmanager
def scene(tmp_path: Path, hosts: Hosts, link: VethLink | LossyLink) -> Iterator[Scene]:
    """The scene; its server is ended."""
    made = Scene(tmp_path, hosts, link.address)
    try:
        yield made
    finally:
        made.server.end(signal.SIGINT)


def ended(pull: subprocess.Popen[str], within_s: float = 60) -> str:
    """Wait for a pull that must end well; what it told."""
    _, told = pull.communicate(timeout=within_s)
    assert pull.returncode == 0, told
    return told


def test_the_cable_is_pulled_in_mid_tail(tmp_path: Path) -> None:
    """A follower behind a cut link must notice, try again, and go on by itself within the stated time."""
    with two_hosts("tail") as hosts, veth(hosts) as link, scene(tmp_path, hosts, link) as on:
        with StreamWriter.open(on.there, "run", create=True) as writer:
            writer.append(event(1))
            pull = on.pull("run", "-f")
            on.wait(lambda: on.reached() == 1, pull)
            link.cut()
            for number in range(2, 50):
                writer.append(event(number, 90_000 if number == 40 else 40))
            threading.Event().wait(12)  # longer than a silence that is taken for granted
            assert on.reached() == 1
            sound(Store.open(on.here))
            link.restore()
            took = on.wait(lambda: on.reached() == 49, pull, RESUME_S)
            assert took < RESUME_S
            # A short cut goes by without a new connection.
            link.cut()
            writer.append(event(50))
            threading.Event().wait(1)
            link.restore()
            on.wait(lambda: on.reached() == 50, pull, RESUME_S)
            writer.finish()
        told = ended(pull)
        assert "trying again" in told
        assert "is back" in told
        assert_identical(Store.open(on.here), on.there)


def test_the_link_is_cut_in_mid_transfer(tmp_path: Path) -> None:
    """What was brought of a large sealed file must not be brought again after a cut and a kill of the puller."""
    with two_hosts("cut") as hosts, lossy(hosts, rate=3e6) as link, scene(tmp_path, hosts, link) as on:
        with StreamWriter.open(on.there, "run", create=True) as writer:
            for number in range(1, 301):
                writer.append(event(number, 40_000))
            writer.finish()
        size = sum(p.stat().st_size for p in on.there.stream_path("run").glob("0*"))
        assert size > 5_000_000
        pull = on.pull("run")
        on.wait(lambda: on.gathered() > 1, pull)
        link.cut()
        pull.send_signal(signal.SIGKILL)
        pull.communicate()
        kept = on.gathered()
        assert 0 < kept < size
        sound(Store.open(on.here))
        link.restore()
        pull = on.pull("run")
        on.wait(lambda: on.gathered() > kept, pull)
        on.server.end(signal.SIGKILL)
        on.server = on.serve()
        told = ended(pull)
        assert "is back" in told
        assert_identical(Store.open(on.here), on.there)


@pytest.mark.parametrize("spoiled_by", ["netem", "ourselves"])
def test_a_slow_link_that_loses_packets(tmp_path: Path, spoiled_by: str) -> None:
    """Delay and loss must cost time and nothing else."""
    with two_hosts("loss") as hosts, contextlib.ExitStack() as links:
        link: VethLink | LossyLink
        if spoiled_by == "netem":
            link = links.enter_context(veth(hosts))
            link.netem("delay", "30ms", "loss", "5%")
        else:
            link = links.enter_context(lossy(hosts, delay_s=0.03, loss=0.05))
        with scene(tmp_path, hosts, link) as on:
            with StreamWriter.open(on.there, "run", create=True) as writer:
                for number in range(1, 61):
                    writer.append(event(number, 90_000 if number % 10 == 0 else 40))
                pull = on.pull("run", "-f")
                for number in range(61, 121):
                    writer.append(event(number, 90_000 if number % 10 == 0 else 400))
                    threading.Event().wait(0.01)
                on.wait(lambda: on.reached() == 120, pull)
                writer.finish()
            ended(pull)
            if isinstance(link, LossyLink):
                assert link.lost > 0
            assert_identical(Store.open(on.here), on.there)


def test_a_real_run_is_followed_over_a_bad_link(tmp_path: Path) -> None:
    """What counts: `hemra run` here, `log pull -f` and `tail -f` there, and the same events and report at the end."""
    shutil.copytree(ROOT / "tasks" / "t01_terminal_smoke", tmp_path / "tasks")
    with (
        two_hosts("run") as hosts,
        lossy(hosts, delay_s=0.02, loss=0.02) as link,
        scene(tmp_path, hosts, link) as on,
    ):
        run = subprocess.Popen(
            [*HEMRA, "run", "--store", str(on.there.path), "--dataset", str(tmp_path / "tasks"), "--harness",
             "oracle"],
            env=environment(on.home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        name = ""
        while not name:
            assert run.poll() is None
            name = next((n for n in on.there.streams() if n != "catalog"), "")
            threading.Event().wait(0.02)
        pull = on.pull("latest", "-f")
        on.wait(lambda: on.reached(name) > 0, pull)
        tail = subprocess.Popen(
            [*HEMRA, "tail", "--store", str(on.here), "latest", "-f", "--json"],
            env=environment(on.home), stdout=subprocess.PIPE,
        )  # fmt: skip
        link.cut()
        threading.Event().wait(0.7)
        link.restore()
        tailed, _ = tail.communicate(timeout=60)
        ended(pull)
        assert run.communicate(timeout=30) is not None
        assert_identical(Store.open(on.here), on.there, name)
        cat = [*HEMRA, "log", "cat", "--store", str(on.there.path), name]
        assert tailed == subprocess.run(cat, capture_output=True, check=True, env=environment(on.home)).stdout
