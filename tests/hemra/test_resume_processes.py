"""Engines that are killed, interrupted, cancelled, detached; runs that are resumed from their events."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from eventlog.reader import read, stream_state
from eventlog.store import Store
from eventlog.verify import verify
from hemra.engine.cancel import cancel
from hemra.engine.detach import create_detached, resume_detached
from hemra.engine.lock import EngineBusy, EngineLock
from hemra.engine.materials import reload
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import resume
from hemra.engine.state import load
from hemra.errors import DatasetChanged, HemraError, NotFound, UsageError
from tests.hemra.engine_driver import Driver, events, final_states, make_harness, make_task, wait_until


class Place:
    """A store, a dataset of small tasks, and harnesses."""

    def __init__(self, root: Path, tasks: int) -> None:
        self.root = root
        self.path = root / "the store"
        self.dataset = root / "set"
        for number in range(tasks):
            make_task(self.dataset, f"task {number}")
        self.quick = make_harness(root, "quick", "echo a line; touch done")
        # Writes its own pid into the store's folder, so that a test can see whether it lives.
        self.slow = make_harness(root, "slow", f"echo $$ >> '{root}/pids'; trap 'exit 0' INT; sleep 60")

    @property
    def store(self) -> Store:
        """The store, opened."""
        return Store.open(self.path, create=True)

    def start(self, *harnesses: str, jobs: int = 2, attempts: int = 1) -> Driver:
        """An engine in a process of its own."""
        return Driver("start", str(self.path), str(self.dataset), str(jobs), str(attempts), *harnesses)

    def resume(self, run: str, jobs: int = 2) -> Driver:
        """Another engine, for the same run."""
        return Driver("resume", str(self.path), run, str(jobs))

    def slow_pids(self) -> list[int]:
        """Pids of slow harnesses that were started."""
        file = self.root / "pids"
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Four tasks."""
    return Place(tmp_path, 4)


def living(pids: list[int]) -> list[int]:
    """Those that still run."""
    alive = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                alive.append(pid)
        except psutil.NoSuchProcess:
            continue
    return alive


def check_whole(place: Place, run: str, trials: int) -> None:
    """The run is finished, its log sound, every trial has exactly one final state that stands, none twice."""
    store = place.store
    assert verify(store).ok, [str(problem) for problem in verify(store).problems]
    state = load(store, run)
    assert state.finished
    assert len(state.trials) == trials
    assert not state.remaining()
    starts = Counter((trial, d["try_no"]) for trial, d in events(store, run, "trial.started"))
    ends = Counter((trial, d["try_no"]) for trial, d in events(store, run, "trial.finished"))
    assert max(starts.values()) == max(ends.values()) == 1
    last_start: dict[str | None, int] = {}
    for trial, try_no in starts:
        last_start[trial] = max(last_start.get(trial, 0), try_no)
    assert set(ends) >= set(last_start.items())
    ids = [event.id for event in read(store, run)]
    assert len(ids) == len(set(ids))
    [end] = [d for _, d in events(store, run, "run.finished")]
    assert sum(end["outcomes"].values()) == end["trials"] == trials


@pytest.mark.parametrize("victims", ["engine", "recorder", "both"])
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_a_random_instant_and_resumed(place: Place, victims: str, seed: int) -> None:
    """Work that was finished would be lost or done twice when hemra or its recorder dies."""
    rng = random.Random(f"{victims}{seed}")
    with place.start(place.quick, "nop", attempts=2) as engine:
        run = engine.until("planned")
        for _ in range(rng.randrange(16)):
            engine.until("finished")
        shown = {line["finished"] for line in engine.lines if "finished" in line}
        recorder = stream_state(place.store, run).writer
        if victims != "engine" and recorder is not None:
            os.kill(recorder, signal.SIGKILL)
        if victims != "recorder":
            engine.process.kill()
        code = engine.wait()
    if victims == "recorder":
        # The engine starts another recorder, sends again what was not acknowledged, and nobody notices.
        assert code == 0, engine.lines
    else:
        assert shown <= set(final_states(place.store, run))  # what was shown is on disk
        with place.resume(run) as second:
            assert second.wait() == 0, second.lines
        done_again = {line["finished"] for line in second.lines if "finished" in line}
        assert not shown & done_again
        [(_, resumed)] = events(place.store, run, "run.resumed")
        assert resumed["finished"] + resumed["remaining"] == 16
    check_whole(place, run, 16)
    rewards = [(d["outcome"], d["reward"]) for d in final_states(place.store, run).values()]
    assert sorted(rewards) == [("completed", 0.0)] * 8 + [("completed", 1.0)] * 8


def test_processes_and_folders_of_a_killed_engine_are_cleared_away(place: Place) -> None:
    """Harnesses of a dead engine would go on spending money beside the resumed ones."""
    with place.start(place.slow) as engine:
        run = engine.until("planned")
        engine.until("started", "0002")
        wait_until(lambda: len(place.slow_pids()) == 2)
        engine.process.kill()
        engine.wait()
    orphans = place.slow_pids()
    assert len(orphans) == 2
    with place.resume(run) as second:
        assert second.until("planned") == run
        assert living(orphans) == []
        second.process.send_signal(signal.SIGINT)
        assert second.wait() == 130
    state = load(place.store, run)
    assert state.trials["0001"].tries >= 1
    [(_, resumed)] = events(place.store, run, "run.resumed")
    assert resumed["interrupted"] == ["0001", "0002"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_the_run_in_order(place: Place, number: signal.Signals, code: int) -> None:
    """Ctrl-C would leave harnesses running, count cancelled trials as results, or lose the run."""
    with place.start(place.slow, jobs=2) as engine:
        run = engine.until("planned")
        engine.until("started", "0002")
        wait_until(lambda: len(place.slow_pids()) == 2)
        engine.process.send_signal(number)
        assert engine.wait() == code
    assert living(place.slow_pids()) == []
    told = [line["note"] for line in engine.lines if "note" in line]
    assert told == [
        f"{number.name}: ending the running trials; once more to leave at once",
        f"run {run} stopped: 0 of 4 trials are finished and kept",
    ]
    assert engine.lines[-1]["cancelled"]
    states = final_states(place.store, run)
    assert {t: (d["outcome"], d["scored"], d["reward"]) for t, d in states.items()} == {
        "0001": ("cancelled", False, None), "0002": ("cancelled", False, None),
    }  # fmt: skip
    [(_, cancelled)] = events(place.store, run, "run.cancelled")
    assert (cancelled["finished"], cancelled["remaining"]) == (0, 4)
    assert number.name in cancelled["reason"]
    assert not stream_state(place.store, run).finished
    assert verify(place.store).ok


def test_a_cancelled_run_goes_on_where_it_was(place: Place) -> None:
    """Cancelled trials would stay cancelled for ever, or finished ones be repeated."""
    gate = place.root / "gate"
    gated = make_harness(place.root, "gated", f"touch done; test -e '{gate}' || sleep 60")
    with place.start(place.quick, gated, jobs=1) as engine:
        run = engine.until("planned")
        engine.until("started", "0002")
        engine.process.send_signal(signal.SIGINT)
        assert engine.wait() == 130
    gate.touch()
    with place.resume(run) as second:
        assert second.wait() == 0
    assert "0001" not in {line.get("started") for line in second.lines}
    states = final_states(place.store, run)
    assert (states["0002"]["outcome"], states["0002"]["try_no"]) == ("completed", 2)
    assert len(states) == 8
    assert load(place.store, run).finished


def test_the_second_signal_leaves_at_once(place: Place) -> None:
    """A harness that does not end would hold the terminal."""
    script = f"echo $$ >> '{place.root}/pids'; trap '' TERM INT; while :; do sleep 60; done"
    stubborn = make_harness(place.root, "stubborn", script)
    with place.start(stubborn, jobs=1) as engine:
        run = engine.until("planned")
        engine.until("started", "0001")
        wait_until(lambda: bool(place.slow_pids()))
        engine.process.send_signal(signal.SIGINT)
        engine.until("note")
        engine.process.send_signal(signal.SIGINT)
        assert engine.process.wait(2) == 130
    state = load(place.store, run)
    assert not state.finished
    # What the second signal left is cleared away by the next engine, here by `cancel`.
    assert "is cancelled" in cancel(place.store, run)
    assert living(place.slow_pids()) == []


def test_cancel_of_a_live_run_waits_until_it_has_ended(place: Place) -> None:
    """`hemra cancel` would say that a run is over while its harnesses still run."""
    with place.start(place.slow, jobs=2) as engine:
        run = engine.until("planned")
        engine.until("started", "0002")
        assert cancel(place.store, run) == f"run {run} is cancelled; 0 of 4 trials are finished"
        assert engine.wait() == 143
    assert living(place.slow_pids()) == []
    assert len(events(place.store, run, "run.cancelled")) == 1
    assert "cancelled already" in cancel(place.store, run)
    assert len(events(place.store, run, "run.cancelled")) == 1


def test_cancel_of_a_dead_run_is_recorded(place: Place) -> None:
    """A run whose engine was killed would be shown as running for ever."""
    with place.start(place.slow, jobs=1) as engine:
        run = engine.until("planned")
        engine.until("started", "0001")
        engine.process.kill()
        engine.wait()
    assert "its engine was gone" in cancel(place.store, run)
    [(_, cancelled)] = events(place.store, run, "run.cancelled")
    assert cancelled["remaining"] == 4


def test_cancel_of_a_finished_or_absent_run_says_so(place: Place) -> None:
    """A finished run would be marked as cancelled."""
    with place.start(place.quick) as engine:
        assert engine.wait() == 0
    run = engine.lines[0]["planned"]
    assert "is finished; there is nothing to cancel" in cancel(place.store, run)
    assert events(place.store, run, "run.cancelled") == []
    with pytest.raises(NotFound):
        cancel(place.store, "20000101-000000-aaaaaa")


def test_resume_of_a_finished_or_absent_run(place: Place) -> None:
    """A finished run would be run again."""
    with place.start(place.quick) as engine:
        assert engine.wait() == 0
    run = engine.lines[0]["planned"]
    before = stream_state(place.store, run).last_seq
    result = resume(place.store, run, Quiet())
    assert (result.outcomes, result.exit_code) == ({"completed": 4}, 0)
    assert stream_state(place.store, run).last_seq == before
    with pytest.raises(NotFound):
        resume(place.store, "20000101-000000-aaaaaa", Quiet())


def test_only_one_engine_a_run(place: Place) -> None:
    """Two engines would run the same trials at the same time."""
    with place.start(place.slow, jobs=1) as engine:
        run = engine.until("planned")
        engine.until("started", "0001")
        with pytest.raises(EngineBusy, match=f"hemra cancel {run}"):
            resume(place.store, run, Quiet())
        cancel(place.store, run)
        engine.wait()


def dead_run(place: Place) -> str:
    """A run whose engine died in its first trial."""
    with place.start(place.slow, jobs=1) as engine:
        run: str = engine.until("planned")
        engine.until("started", "0001")
        engine.process.kill()
        engine.wait()
    return run


def test_resume_refuses_other_tasks_and_names_the_file(place: Place) -> None:
    """Half of a run would be carried out with other tasks than the other half."""
    run = dead_run(place)
    verifier = place.dataset / "task 2" / "verifier.py"
    content = verifier.read_text()
    verifier.write_text(content + "\n# edited\n")
    with pytest.raises(DatasetChanged, match=r"task 2.*verifier\.py"):
        resume(place.store, run, Quiet())
    verifier.write_text(content)
    (place.dataset / "task 3" / "task.yaml").rename(place.dataset / "task 3" / "gone")
    with pytest.raises(HemraError, match="task 3"):
        resume(place.store, run, Quiet())
    (place.dataset / "task 3" / "gone").rename(place.dataset / "task 3" / "task.yaml")
    reload(place.store, load(place.store, run))
    cancel(place.store, run)


def test_resume_refuses_another_harness(place: Place) -> None:
    """Half of a run would be carried out with another harness than the other half."""
    run = dead_run(place)
    file = Path(place.slow)
    content = file.read_text()
    file.write_text(content.replace("sleep 60", "true"))
    with pytest.raises(
        UsageError, match=rf"harness slow is not what run {run} was planned with: .*slow\.yaml"
    ):
        resume(place.store, run, Quiet())
    file.unlink()
    with pytest.raises(NotFound, match="Put it back"):
        resume(place.store, run, Quiet())
    file.write_text(content)
    reload(place.store, load(place.store, run))
    cancel(place.store, run)


def test_a_lock_outlives_its_holder_for_a_moment_only(place: Place) -> None:
    """A resume right after kill -9 would be refused because of an engine that is dead."""
    run = dead_run(place)
    folder = place.store.stream_path(run)
    fd = os.open(folder / "engine.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.ftruncate(fd, 0)
    os.write(fd, b'{"pid": 999999999, "started": 1.0}')
    threading.Timer(0.2, os.close, [fd]).start()
    lock = EngineLock(folder, run)
    lock.acquire()
    began = time.monotonic()
    with pytest.raises(EngineBusy):  # this process holds it, and lives
        EngineLock(folder, run).acquire()
    assert time.monotonic() - began < 1
    lock.release()
    cancel(place.store, run)


def test_a_harness_that_was_upgraded_meanwhile_is_told(place: Place) -> None:
    """Half of a run's numbers would be of another version, and nobody would know."""
    version = place.root / "version"
    version.write_text("tool 1")
    upgraded = make_harness(
        place.root, "upgraded", f"touch done; test -e '{place.root}/gate' || sleep 60",
        version_command=["sh", "-c", f"cat '{version}'"],
    )  # fmt: skip
    with place.start(upgraded, jobs=1) as engine:
        run = engine.until("planned")
        engine.until("started", "0001")
        engine.process.kill()
        engine.wait()
    (place.root / "gate").touch()
    version.write_text("tool 2")
    assert resume(place.store, run, Quiet()).outcomes == {"completed": 4}
    [(_, note)] = events(place.store, run, "note.recorded")
    assert note["code"] == "harness_version_changed"
    assert "tool 2" in note["text"]
    assert "tool 1" in note["text"]


def test_tasks_that_are_not_in_the_plan_may_change(place: Place) -> None:
    """A new task beside the planned ones would keep a run from being resumed."""
    run = dead_run(place)
    make_task(place.dataset, "task new")
    assert set(reload(place.store, load(place.store, run)).tasks) == {f"task {n}" for n in range(4)}
    cancel(place.store, run)


def plan(place: Place, *harnesses: str) -> object:
    """A plan of all tasks."""
    return make_plan(place.store, RunRequest(dataset=str(place.dataset), harnesses=list(harnesses), jobs=2))


def wait_free(place: Place, run: str) -> None:
    """Wait until no engine holds the run."""
    lock = EngineLock(place.store.stream_path(run), run)
    assert lock.wait_free(60)
    lock.release()


def test_a_detached_run_goes_on_by_itself(place: Place) -> None:
    """`hemra run -d` would end with its terminal, or give the prompt back before the run is safe."""
    run = create_detached(place.store, plan(place, place.quick))  # type: ignore[arg-type]
    wait_free(place, run)
    check_whole(place, run, 4)
    assert [data["pid"] for _, data in events(place.store, run, "run.started")] != [os.getpid()]


def test_a_detached_engine_that_cannot_begin_says_why(place: Place) -> None:
    """`hemra run -d` would print a run id for a run that nobody carries out."""
    run = dead_run(place)
    Path(place.slow).unlink()
    with pytest.raises(HemraError, match=r"its engine did not begin: .*slow"):
        resume_detached(place.store, run, 1)
    cancel(place.store, run)
