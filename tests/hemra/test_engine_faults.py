"""What happens to a run when its recorder does not start or answer, or its store goes away."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventlog.client import Client
from eventlog.errors import DamageError, RecorderUnavailable
from eventlog.reader import stream_state
from eventlog.store import Store
from hemra.engine import run as run_module
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import RunResult, start
from hemra.errors import HemraError
from hemra.sandboxes.scratch import scratch_root
from tests.hemra.engine_driver import Driver, make_harness, make_task, wait_until


class AfterTheFirst(Quiet):
    """Does something once, when the first trial is finished."""

    def __init__(self, act: Callable[[str], None]) -> None:
        self._act: Callable[[str], None] | None = act
        self.run = ""
        self.finished = 0

    def run_planned(self, run: str, trials: int) -> None:
        """Remember the run."""
        self.run = run

    def trial_finished(self, info: dict[str, Any]) -> None:
        """Act at the first."""
        self.finished += 1
        act, self._act = self._act, None
        if act is not None:
            act(self.run)


class Place:
    """A store, six tasks and a harness."""

    def __init__(self, root: Path) -> None:
        self.store = Store.open(root / "store", create=True)
        self.set = root / "set"
        for number in range(6):
            make_task(self.set, f"task {number}")
        self.harness = make_harness(root, "quick", "touch done")

    def carry_out(self, act: Callable[[str], None] = lambda _: None) -> RunResult:
        """A run with `act` after its first trial."""
        plan = make_plan(self.store, RunRequest(dataset=str(self.set), harnesses=[self.harness]))
        return start(self.store, plan, AfterTheFirst(act))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh place."""
    return Place(tmp_path)


def connecting(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None], **options: Any) -> list[int]:
    """Have `before(n)` called at the n-th connection (from 1), and connect with these options."""
    real, calls = Client.connect, [0]

    def connect(*args: Any, **more: Any) -> Client:
        calls[0] += 1
        before(calls[0])
        return real(*args, **(more | options))

    monkeypatch.setattr(Client, "connect", connect)
    return calls


def test_a_recorder_that_dies_while_it_starts_is_started_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unlucky moment would leave a run incomplete that nobody stopped."""

    def before(number: int) -> None:
        if number < run_module.CONNECT_TRIES:
            raise RecorderUnavailable("it said nothing")

    calls = connecting(monkeypatch, before)
    assert place.carry_out().outcomes == {"completed": 6}
    assert calls == [run_module.CONNECT_TRIES]


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (RecorderUnavailable("it said nothing"), run_module.CONNECT_TRIES),
        (DamageError(Path("segment"), 7, "rotten"), 1),
    ],
)
def test_a_recorder_that_never_starts_ends_the_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    """The engine would start it for ever, or start it again on a log that is damaged."""

    def before(number: int) -> None:
        raise error

    calls = connecting(monkeypatch, before)
    with pytest.raises(HemraError, match=r"the recorder of run .* does not start"):
        place.carry_out()
    assert calls == [tries]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_recorder_that_stands_still_ends_the_run_after_one_wait(
    place: Place, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    """Every event that is still to be written would wait as long again, and Ctrl-C end with another code."""
    connecting(monkeypatch, lambda _: None, timeout_s=2.0)
    stopped: list[int] = []

    def act(run: str) -> None:
        recorder = stream_state(place.store, run).writer
        assert recorder is not None
        os.kill(recorder, signal.SIGSTOP)
        stopped.append(recorder)
        if interrupted:
            signal.raise_signal(signal.SIGINT)

    began = time.monotonic()
    try:
        with pytest.raises(HemraError) as caught:
            place.carry_out(act)
    finally:
        for recorder in stopped:
            os.kill(recorder, signal.SIGCONT)
    assert time.monotonic() - began < 10
    assert caught.value.exit_code == (130 if interrupted else 1)
    text = str(caught.value)
    assert "does not answer" in text
    assert ("SIGINT received" in text) == interrupted
    assert "1 of 6 trials are finished and kept; go on with `hemra resume" in text


def test_a_store_that_is_gone_is_not_said_to_keep_anything(place: Place) -> None:
    """The user would look for a night's results where nothing is."""
    with pytest.raises(HemraError) as caught:
        place.carry_out(lambda _: shutil.rmtree(place.store.path))
    assert str(caught.value).endswith(
        f"its store {place.store.path} is gone, and with it all that was recorded"
    )
    assert "resume" not in str(caught.value)
    assert caught.value.exit_code == 1


def test_any_run_clears_away_what_a_killed_engine_left(place: Place, tmp_path: Path) -> None:
    """A run that is stopped at once and never resumed would leave its folders on the machine for ever."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    slow = make_harness(tmp_path, "slow", "sleep 60")
    there = {"TMPDIR": str(scratch)}
    root = scratch_root(scratch)
    with Driver("start", str(place.store.path), str(place.set), "2", "1", slow, env=there) as engine:
        run = engine.until("planned")
        engine.until("started")
        wait_until(lambda: len(list(root.glob(f"{run}/*.1/workspace"))) == 2)
        engine.process.kill()
        engine.wait()
    assert list(root.glob("*/*.1/workspace"))
    with Driver("start", str(tmp_path / "other"), str(place.set), "2", "1", "nop", env=there) as engine:
        assert engine.wait() == 0, engine.lines
    assert [path for path in root.iterdir() if path.is_dir()] == []
