"""Whole runs in containers, from the command line: what a person sees when things go well and when they do not."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from eventlog.reader import read
from eventlog.store import Store
from tests.hemra.engine_driver import make_harness, make_task
from tests.sandboxes.docker_trials import left
from tools.engine.engine import IMAGE, Engine

pytestmark = pytest.mark.usefixtures("docker_engine")

HEMRA = [sys.executable, "-m", "hemra.cli.main"]


@pytest.fixture
def client(docker_engine: Engine) -> Iterator[docker.APIClient]:
    """The engine, asked by hand."""
    with contextlib.closing(
        docker.APIClient(base_url=docker_engine.url, version="1.41", timeout=30)
    ) as found:
        yield found


class World:
    """A store, a dataset of two tasks, and hemra."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = root / "store"
        for name in ("one", "two"):
            make_task(root / "tasks", name)

    def command(self, harness: str, *words: str, sandbox: str = f"docker:{IMAGE}") -> list[str]:
        """`hemra run` of both tasks."""
        options = ["--dataset", str(self.root / "tasks"), "--harness", harness, "--sandbox", sandbox, *words]
        return [*HEMRA, "run", "--store", str(self.store), *options]

    def run(self, harness: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """To its end."""
        return subprocess.run(
            self.command(harness, *words, **more), capture_output=True, text=True, check=False, timeout=120
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Data of all events of a type."""
        store = Store.open(self.store)
        runs = [name for name in store.streams() if name != "catalog"]
        return [event.data for run in runs for event in read(store, run, types=(kind,))]

    def containers(self, client: docker.APIClient) -> list[str]:
        """The running containers of this store's trials."""
        label = {"label": f"hemra.store={Store.open(self.store).id}"}
        return [each["Id"] for each in client.containers(filters=label)]

    def left(self) -> list[str]:
        """What is in the engine of this store."""
        return left(Store.open(self.store).id)


def _until(found: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


def test_a_program_of_the_image_is_the_harness(tmp_path: Path, docker_engine: Engine) -> None:
    """Broken: a program that only the image has is looked for on this machine, or one that it lacks is not told."""
    world = World(tmp_path)
    busybox = {"bin/busybox": Path("/bin/busybox")}
    docker_engine.import_folder(busybox, {"bin/sh": "busybox", "bin/only-inside": "busybox"}, "inside:1")
    harness = make_harness(tmp_path, "inside", "", command=["sh", "-c", "/bin/busybox touch done"])
    ran = world.run(harness, sandbox="docker:inside:1")
    assert ran.returncode == 0, ran.stderr
    missing = make_harness(tmp_path, "missing", "", command=["no-such-agent"])
    ran = world.run(missing, "--task", "one", "--retries", "0", sandbox="docker:inside:1")
    assert ran.returncode == 3, ran.stderr
    last = world.events("trial.finished")[-1]
    assert last["outcome"] == "setup_error"
    assert "'no-such-agent'" in last["reason"]
    assert "inside:1" in last["reason"]
    assert world.left() == []


def test_a_container_taken_away_costs_its_trial_only(tmp_path: Path, client: docker.APIClient) -> None:
    """Broken: one container that is removed spoils the run, or its trial counts as the harness's."""
    world = World(tmp_path)
    harness = make_harness(
        tmp_path, "waits", "touch done; until test -e /tmp/never; do sleep 0.1; done & sleep 4"
    )
    with subprocess.Popen(world.command(harness, "-j", "2", "--retries", "0"), stderr=subprocess.PIPE) as run:
        started: Callable[[], bool] = lambda: len(world.events("harness.started")) == 2  # noqa: E731
        _until(lambda: world.store.is_dir() and (world.store / "store.json").exists() and started())
        client.remove_container(world.containers(client)[0], force=True)
        _, said = run.communicate(timeout=100)
    assert run.returncode == 3, said
    assert sorted(each["outcome"] for each in world.events("trial.finished")) == ["completed", "sandbox_lost"]
    assert [
        each["scored"] for each in world.events("trial.finished") if each["outcome"] == "sandbox_lost"
    ] == [False]
    (lost,) = world.events("sandbox.lost")
    assert {each["action"] for each in lost["evidence"]["events"]} >= {"kill", "die"}
    assert world.left() == []


def test_a_daemon_that_dies_in_mid_run(tmp_path: Path, docker_engine: Engine) -> None:
    """Broken: a run does not go on after its container engine came back."""
    world = World(tmp_path)
    harness = make_harness(tmp_path, "waits", "touch done; sleep 3")
    with subprocess.Popen(world.command(harness, "-j", "2", "--retries", "2"), stderr=subprocess.PIPE) as run:
        _until(lambda: (world.store / "store.json").exists() and len(world.events("harness.started")) == 2)
        docker_engine.kill()
        docker_engine.restart()
        _, said = run.communicate(timeout=100)
    assert run.returncode == 0, said
    assert {each["outcome"] for each in world.events("trial.retried")} == {"sandbox_lost"}
    assert [each["outcome"] for each in world.events("trial.finished")] == ["completed", "completed"]
    assert world.left() == []


def test_a_killed_run_is_resumed_and_its_containers_are_gone(
    tmp_path: Path, client: docker.APIClient
) -> None:
    """Broken: containers of a run that was killed stay, or stand in the way of its resumption."""
    world = World(tmp_path)
    harness = make_harness(tmp_path, "waits", "touch done; sleep 2")
    with subprocess.Popen(world.command(harness), stderr=subprocess.DEVNULL) as run:
        _until(lambda: (world.store / "store.json").exists() and world.events("harness.started"))
        (container,) = world.containers(client)
        run.send_signal(signal.SIGKILL)
    (stream,) = [name for name in Store.open(world.store).streams() if name != "catalog"]
    ran = subprocess.run(
        [*HEMRA, "resume", "--store", str(world.store), stream],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    assert container[:12] in ran.stderr, "nobody is told what was removed"
    assert world.left() == []


def test_an_engine_that_is_not_there_is_told_at_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: a run without an engine begins, or ends in a stack trace."""
    world = World(tmp_path)
    harness = make_harness(tmp_path, "any", "true")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    ran = world.run(harness)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "no container engine answers" in ran.stderr
    assert not (world.store / "store.json").exists()


def test_the_record_names_the_image(tmp_path: Path) -> None:
    """Broken: nobody can tell from a run's events which image it ran in, and what that enforced."""
    world = World(tmp_path)
    world.run(make_harness(tmp_path, "quick", "touch done"), "--task", "one")
    (made,) = world.events("sandbox.created")
    assert (made["kind"], made["workspace"], made["network"]) == ("docker", "/workspace", "full")
    assert made["details"]["image_id"].startswith("sha256:")
    open_to_all = {name for name, each in made["enforcement"].items() if each["status"] == "not enforced"}
    assert open_to_all <= {"network", "host_services", "cloud_metadata"}
