"""Recorder, sealer, blob store and bundles after a power cut at every operation (the model: see `powercut`).

Each test tries a fixed number of stores that no other test here tried; together more than 5,000.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.explorer import Explorer
from tests.faults.powercut import LOST, Cut
from tests.faults.scenes import SCENES

#: Distinct stores to try a scene, in `make test`.
QUOTAS = {"plain": 600, "rolling": 900, "wide": 900, "blobs": 400, "imports": 120}
#: Scenes whose process is killed: at every so manieth sync, and how many stores to try for each kill, beside all those
#: that lack what the dead process had not synced. Together at least so many.
KILLED = {"plain": (1, 5, 800), "blobs": (1, 5, 700), "rolling": (2, 5, 700), "imports": (8, 2, 60)}
#: Scenes that are cut at so many places, opened again, and cut again on the way; stores to try for each.
AGAIN = {"plain": (30, 12), "rolling": (25, 12), "wide": (15, 12)}


@pytest.mark.parametrize("name", SCENES)
def test_every_power_cut_of_one_life(quick: Path, name: str) -> None:
    """If this failed, a power cut would lose, double or invent events, or leave a stream that cannot go on."""
    explorer = Explorer(name, quick)
    explorer.check_complete()
    assert explorer.explore(explorer.cuts(seed=1), QUOTAS[name]) == QUOTAS[name]


def test_a_power_cut_while_sealing_and_appending(quick: Path) -> None:
    """If this failed, a commit in the middle of a seal would not survive it, or the seal not the commit."""
    total = 0
    for pause in range(1, 36, 3):
        explorer = Explorer(f"rolling/pause={pause}", quick / str(pause))
        explorer.check_complete()
        total += explorer.explore(explorer.cuts(seed=pause)[200:], 12)
    assert total >= 100


@pytest.mark.parametrize("name", KILLED)
def test_a_power_cut_after_a_killed_process(quick: Path, name: str) -> None:
    """If this failed, the next process would trust what a dead one had not synced, and lose its own work with it."""
    step, each, least = KILLED[name]
    total = 0
    for after in Explorer(name, quick / "first").before_syncs()[::step]:
        explorer = Explorer(f"{name}/kill={after}", quick / str(after))
        explorer.check_complete()
        total += explorer.explore(explorer.left_behind(), 5 * each)
        total += explorer.explore(explorer.cuts(seed=after)[20:], each)
    assert total >= least


@pytest.mark.parametrize("name", AGAIN)
def test_a_power_cut_in_the_recovery_from_one(quick: Path, name: str) -> None:
    """If this failed, a second power cut, while the first is being made good, would be one too many."""
    places, each = AGAIN[name]
    total = 0
    cuts = Explorer(name, quick / "first").cuts(seed=2)
    for number, cut in enumerate(cuts[:: len(cuts) // places]):
        explorer = Explorer(f"{name}/again={cut}", quick / str(number))
        explorer.check_complete()
        total += explorer.explore(explorer.cuts(seed=number)[40:], each)
    assert total > 0.9 * each * places


def test_recovery_writes_a_segment_anew_once(quick: Path) -> None:
    """If this failed, opening after a power cut would copy a segment as often as there were commits in 100 ms."""
    plain = Explorer("plain", quick / "plain")
    anchored = [i for i, op in enumerate(plain.ops) if op.site.startswith("anchor.advance < stream._write")]
    at = anchored[2] + 1
    behind = [(index, LOST) for index in plain.disk.pending(at) if index in anchored]
    assert len(behind) >= 2
    again = Explorer(f"plain/again={Cut(at, tuple(behind))}", quick / "again")
    copies = [op for op in again.ops if op.kind == "rename" and "recovery.written_anew" in op.site]
    assert len(copies) == 1


def test_the_numbers_add_up() -> None:
    """If this failed, fewer than 5,000 distinct crash states would be tried."""
    killed = sum(least for _, _, least in KILLED.values())
    again = sum(0.9 * each * places for places, each in AGAIN.values())
    assert sum(QUOTAS.values()) + killed + again >= 5000


def test_the_same_name_gives_the_same_trace(quick: Path) -> None:
    """If this failed, a failing state could not be rebuilt from what is printed about it."""
    for name in (
        "rolling",
        "rolling/pause=9",
        "blobs/kill=40",
        "imports",
        "plain/fail=60:EIO:9",
        "plain/again=47",
    ):
        one, two = (Explorer(name, quick / f"{name.replace('/', ' ')} {i}") for i in range(2))
        changes = [[op for op in explorer.ops if op.kind != "note"] for explorer in (one, two)]
        assert changes[0] == changes[1], name
    assert Cut.parse(str(Cut(7, ((3, ("head", 12)), (5, ("lost", 0)))))) == Cut(
        7, ((3, ("head", 12)), (5, ("lost", 0)))
    )
