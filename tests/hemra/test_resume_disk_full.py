"""A disk that fills up in mid-run: told clearly, nothing lost, resumable when there is room again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.store import Store
from eventlog.verify import verify
from hemra.engine import check
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import resume, start
from hemra.engine.state import load
from hemra.errors import HemraError
from tests.hemra.engine_driver import Driver, events, final_states, make_harness, make_task


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB that holds nothing else."""
    place = tmp_path / "small disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_in_mid_run(tmp_path: Path, small_disk: Path) -> None:
    """A full disk would corrupt the log, hang the run, or count as a failure of the harness."""
    for number in range(8):
        make_task(tmp_path / "set", f"task {number}")
    # 5 MB that do not compress and differ a trial; every trial's output is kept as a blob.
    noisy = make_harness(tmp_path, "noisy", "head -c 5000000 /dev/urandom; touch done")
    store = small_disk / "store"
    with Driver("start", str(store), str(tmp_path / "set"), "2", "1", noisy) as engine:
        code = engine.wait()
    last = engine.lines[-1]
    run = engine.lines[0]["planned"]
    assert (code, last["code"]) == (1, 1), engine.lines
    assert "the disk is full: no space is left for" in last["error"] or "MB are free for" in last["error"]
    assert f"hemra resume {run}" in last["error"]
    shown = {line["finished"] for line in engine.lines if line.get("outcome") == "completed"}
    opened = Store.open(store)
    report = verify(opened)
    assert report.ok, [str(problem) for problem in report.problems]
    done = {trial for trial, data in final_states(opened, run).items() if data["outcome"] == "completed"}
    assert shown <= done
    assert done
    assert not load(opened, run).finished

    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    with Driver("resume", str(store), run, "2") as second:
        assert second.wait() == 0, final_states(opened, run)
    assert not shown & {line["finished"] for line in second.lines if "finished" in line}
    states = final_states(opened, run)
    assert {data["outcome"] for data in states.values()} == {"completed"}
    assert len(states) == 8
    assert verify(opened).ok


def test_a_run_is_not_begun_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run would start only to fail with its first trial."""
    make_task(tmp_path / "set", "one")
    store = Store.open(tmp_path / "store", create=True)
    monkeypatch.setattr(check, "free_bytes", lambda place: 5_000_000)
    with pytest.raises(HemraError, match=r"only 5\.0 MB are free"):
        make_plan(store, RunRequest(dataset=str(tmp_path / "set"), harnesses=["nop"]))


def test_no_trial_starts_without_room_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last event of a run would not fit on the disk, and nobody would know why it stopped."""
    for number in range(3):
        make_task(tmp_path / "set", f"task {number}")
    store = Store.open(tmp_path / "store", create=True)
    plan = make_plan(store, RunRequest(dataset=str(tmp_path / "set"), harnesses=["nop"]))
    sizes = iter([10**9, 10**9, 1_000_000])  # at the beginning, before the first trial, before the second
    monkeypatch.setattr(check, "free_bytes", lambda place: next(sizes))
    with pytest.raises(
        HemraError, match=r"less than 3 MB are free .*1 of 3 trials are finished.*hemra resume"
    ):
        start(store, plan, Quiet())
    monkeypatch.undo()
    [run] = [name for name in store.streams() if name != "catalog"]
    [(_, cancelled)] = events(store, run, "run.cancelled")
    assert (cancelled["finished"], cancelled["remaining"]) == (1, 2)
    assert resume(store, run, Quiet()).outcomes == {"completed": 3}
