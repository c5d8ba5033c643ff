"""Every call that touches the disk made to fail: EIO, ENOSPC, EDQUOT, EMFILE, EROFS, EINTR, and half a write.

The scenes are those of the power cuts, with a fault in the file layer: one call fails, or it and some that follow.
A process that ends with an error is started again, a refused event is given up and the next has a new producer, as
clients do it. In the end everything acknowledged is there, once, and the stream goes on.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.explorer import Explorer
from tests.faults.ledger import REFUSED
from tests.faults.powercut import Cut, random_cut
from tests.faults.scenes import SCENES, Fault, scene_of

ERRORS = ("EIO", "ENOSPC", "EDQUOT", "EMFILE", "EROFS", "EINTR", "SHORT")
#: How many calls in a row fail.
TIMES = (1, 1, 4, 30)


def calls_of(scene: str, root: Path) -> int:
    """How many calls the undisturbed scene makes."""
    fault = Fault(1 << 30, "EIO")
    scene_of(scene, root, fault=fault)
    return fault.calls


def disturbed(name: str, root: Path, rng: random.Random, cuts: int) -> Explorer:
    """Play a scene with a fault and judge the store as it is, and as some power cuts would leave it."""
    explorer = Explorer(name, root)
    explorer.check_complete()
    no_second_sync(explorer)
    for cut in [Cut(len(explorer.ops)), *(random_cut(explorer.disk, rng.randrange(len(explorer.ops)), rng)
                                          for _ in range(cuts))]:  # fmt: skip
        error = explorer.attempt(cut)
        assert error is None, explorer.report(explorer.smallest(cut), error)
    return explorer


def no_second_sync(explorer: Explorer) -> None:
    """After a sync of a file failed, that file is never synced again: the kernel would say that all is well."""
    files = {op.node for op in explorer.ops if op.kind == "write"}
    failed: dict[int, str] = {}
    for op in explorer.ops:
        if op.kind == "sync_failed" and op.node in files:
            failed[op.node] = op.site
        assert not (op.kind == "sync" and op.node in failed), (
            f"{explorer.name}: {failed[op.node]}, then {op.site}"
        )


@pytest.mark.parametrize("scene", SCENES)
def test_every_call_fails_once(quick: Path, scene: str) -> None:
    """If this failed, one error of the disk would lose what was acknowledged, pass for damage, or end a stream."""
    rng = random.Random(scene)
    step = 16 if scene == "imports" else 2
    told = 0
    for place in range(rng.randrange(step), calls_of(scene, quick / "calm"), step):
        name = f"{scene}/fail={place}:{ERRORS[place % 7]}:{TIMES[place // 7 % 4]}"
        explorer = disturbed(name, quick / str(place), rng, cuts=1)
        told += bool(explorer.scene.failures) or any(op.name == REFUSED for op in explorer.ops)
    assert told > 10


def test_an_error_is_told_to_those_whom_it_concerns(quick: Path) -> None:
    """If this failed, a producer would take for recorded what the disk refused, or never learn of it."""
    calm = Explorer("plain", quick / "calm").ops
    commits = [i for i, op in enumerate(calm) if op.kind == "sync" and op.site.startswith("stream._write")]
    kinds = {op.kind for op in calm}
    assert {"write", "sync", "rename"} <= kinds
    refused = 0
    for place in range(calls_of("plain", quick / "count")):
        fault = Fault(place, "EIO")
        scene = scene_of("plain", quick / str(place), fault=fault)
        (what,) = fault.hit
        sites = [op.site for op in scene.layer.trace.ops if op.kind == "sync_failed"]
        if what == "sync" and sites[0].startswith("stream._write"):
            assert any(op.name == REFUSED for op in scene.layer.trace.ops)
            refused += 1
    assert refused == len(commits)
