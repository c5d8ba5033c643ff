"""Ids, order and seeds of trials; limits; the lock; progress that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Enforcement
from hemra.engine import limits as limits_module
from hemra.engine.ids import RUN_ID, new_run_id, trial_id
from hemra.engine.lock import NAME, EngineBusy, EngineLock
from hemra.engine.order import SEED_BITS, slots, trial_seed
from hemra.engine.progress import Guarded, Quiet


def test_run_ids_sort_by_start_time() -> None:
    """`hemra runs` and every listing of the store would show runs out of order."""
    start = 1_796_067_912_000_000_000  # 2026-11-30T19:45:12Z
    times = [start + ms * 1_000_000 for ms in (0, 1, 31, 32, 500, 999, 1000, 60_000)]
    ids = [new_run_id(lambda at=at: at) for at in times]  # type: ignore[misc]
    assert ids == sorted(ids)
    assert all(RUN_ID.fullmatch(name) for name in ids)
    assert ids[0].startswith("20261130-194512-00")


def test_trial_ids_have_at_least_four_digits() -> None:
    """Trials would sort 1, 10, 2."""
    assert [trial_id(n) for n in (1, 42, 12345)] == ["0001", "0042", "12345"]


def test_harnesses_are_interleaved() -> None:
    """A machine that grows slower during a run would look like a slower second harness."""
    planned = slots(["a", "b"], harnesses=2, attempts=2, run_seed=0)
    assert [(s.attempt, s.task, s.harness) for s in planned] == [
        (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1), (2, 0, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1),
    ]  # fmt: skip
    assert [s.trial for s in planned] == [trial_id(n) for n in range(1, 9)]


def test_harnesses_face_the_same_seed_and_attempts_do_not() -> None:
    """Harnesses would be compared on different drawn values, or attempts would all be the same."""
    planned = slots(["a", "b"], harnesses=3, attempts=2, run_seed=7)
    by_attempt: dict[tuple[int, int], set[int]] = {}
    for slot in planned:
        by_attempt.setdefault((slot.task, slot.attempt), set()).add(slot.seed)
    assert all(len(seeds) == 1 for seeds in by_attempt.values())
    assert len({seed for seeds in by_attempt.values() for seed in seeds}) == 4


def test_seeds_never_change_between_versions() -> None:
    """A run that is repeated with the same seed would face other tasks after an upgrade."""
    assert trial_seed(0, "t01_terminal_smoke/t01_echo", 1) == 40_837_681_525_093
    assert trial_seed(1, "übung mit leerzeichen", 2) < 2**SEED_BITS


def test_run_limits_override_field_by_field() -> None:
    """`--timeout 5` would throw the task's memory limit away, or not count."""
    merged = limits_module.merge(Limits(wall_seconds=60, memory_bytes=1 << 30), Limits(wall_seconds=5))
    assert merged == Limits(wall_seconds=5, memory_bytes=1 << 30)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (Limits(wall_seconds=0), "wall_seconds is 0"),
        (Limits(wall_seconds=float("nan")), "wall_seconds is nan"),
        (Limits(turns=-1), "turns is -1"),
        (Limits(memory_bytes=2048), "memory_bytes is 2 KiB; with less than 16 MiB"),
    ],
)
def test_limits_that_make_no_sense_are_named(given: Limits, part: str) -> None:
    """Every trial of a run would end at once in a limit, and be scored 0."""
    [line] = limits_module.problems(given, whose="run")
    assert part in line
    assert limits_module.problems(Limits(wall_seconds=5, memory_bytes=1 << 30), whose="run") == []


def test_limits_nobody_holds_are_listed() -> None:
    """A limit that is written in the plan and held by nobody would be believed."""
    given = Limits(wall_seconds=5, memory_bytes=1 << 30, turns=10, tokens=4096)
    enforcement = {
        "wall_time": Enforcement(status="enforced", by="timer"),
        "memory": Enforcement(status="not enforced"),
    }
    assert limits_module.not_enforced(given, enforcement, ["turns"]) == ["memory_bytes", "tokens"]


def test_a_second_engine_is_refused_by_name(tmp_path: Path) -> None:
    """Two engines would run the same trials twice at the same time."""
    first = EngineLock(tmp_path, "R")
    first.acquire()
    holder = EngineLock(tmp_path, "R").holder()
    assert holder is not None
    assert holder.alive()
    with pytest.raises(EngineBusy, match=f"process {holder.pid}.*hemra cancel R"):
        EngineLock(tmp_path, "R").acquire()
    first.release()
    again = EngineLock(tmp_path, "R")
    again.acquire()
    again.release()
    assert EngineLock(tmp_path, "R").holder() is None


def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """A killed engine would block its run for ever."""
    code = (
        "import sys, pathlib; from hemra.engine.lock import EngineLock;"
        "EngineLock(pathlib.Path(sys.argv[1]), 'R').acquire(); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(EngineBusy):
            EngineLock(tmp_path, "R").acquire()
        child.kill()
    held = EngineLock(tmp_path, "R")
    assert held.wait_free(10)
    held.release()


def test_a_pid_that_belongs_to_another_process_is_not_the_holder(tmp_path: Path) -> None:
    """`hemra cancel` would end an innocent process that got a dead engine's number."""
    (tmp_path / NAME).write_text(json.dumps({"pid": 1, "started": 5.0}))
    holder = EngineLock(tmp_path, "R").holder()
    assert holder is not None
    assert not holder.alive()


class Broken(Quiet):
    """A watcher whose terminal is gone."""

    def __init__(self) -> None:
        self.notes = 0
        self.closed = False

    def note(self, text: str) -> None:
        """Fails, and counts how often it was asked."""
        self.notes += 1
        raise BrokenPipeError("gone")

    def close(self) -> None:
        """Remembers."""
        self.closed = True


def test_a_watcher_that_fails_is_left_alone() -> None:
    """A closed terminal would end a run that costs money."""
    inner = Broken()
    guarded = Guarded(inner)
    guarded.note("one")
    guarded.note("two")
    guarded.close()
    assert (inner.notes, inner.closed, guarded.failure) == (1, True, "BrokenPipeError: gone")
