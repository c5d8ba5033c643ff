"""The power-cut simulator must be able to fail: without any one sync of the product it finds a loss.

A mutant is the product with one kind of sync left out, or made too late. It is made in the record only: the product
calls as ever, and what it called is not written down, which is the same as not having called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.explorer import Explorer
from tests.faults.filelayer import RecordingLayer
from tests.faults.ledger import ledger_at
from tests.faults.powercut import Cut, Disk, digest_of
from tests.faults.scenes import SCENES, scene_of
from tests.faults.trace import Op, Trace

#: The plain scene, cut in the middle of a commit's write and opened again: see `_torn`.
TORN = "torn"
#: Which sync is left out (who called it, innermost first) -> the scene in which that is found out.
LEFT_OUT = {
    r"stream\._write < stream\.commit": "plain",
    r"disk\.fsync_dir < stream\._write": "plain",
    r"disk\.fsync_dir < stream\.open": "plain/kill=14",
    r"disk\.fsync_dir < recovery\._remove_covered": "plain/kill=93",
    r"disk\.replacing < recovery\.written_anew < recovery\.recover": "plain/kill=53",
    r"disk\.replacing < recovery\.written_anew < recovery\._cut": TORN,
    r"anchor\..*(stream\._end < stream\.finish|anchor\.advance < stream\._end)": "plain",
    r"anchor\..*(stream\._write|stream\.settle)": "plain",
    r"disk\.replacing < anchor\.__init__ < (stream\.open|recovery\.recover)": "plain",
    r"disk\.replacing < seal\._seal_group": "plain",
    r"disk\.fsync_dir < disk\.replacing < seal\._seal_group": "plain",
    r"disk\.replacing < manifest\.save": "plain",
    r"disk\.fsync_dir < disk\.replacing < manifest\.save": "plain",
    r"disk\.fsync_dir < disk\.make_dir < store\._create": "plain",
    r"disk\.replacing < store\._create": "plain",
    r"disk\.fsync_dir < disk\.replacing < store\._create": "plain",
    r"disk\.fsync_dir < store\._settle": "plain/kill=12",
    r"blobs\.commit < blobs\.put": "blobs",
    r"disk\.fsync_dir < blobs\.commit": "blobs",
    r"disk\.fsync_dir < blobs\.keeps < blobs\.put": "blobs/kill=21",
    r"disk\.fsync_dir < disk\.make_dir < blobs\.(commit|temp_dir)": "blobs",
    r"bundle_import\._unpack": "imports",
    r"disk\.fsync_dir < disk\.make_dir < (aside\.adopt_blobs|bundle_takeover\._move_blobs)": "imports",
    r"disk\.fsync_dir < (aside\.adopt_blobs|bundle_takeover\._move_blobs)": "imports",
    r"disk\.replacing < anchor\.__init__ < bundle_import\._unpack": "imports",
    r"disk\.replacing < anchor\.__init__ < bundle_takeover\._extend": "imports",
    r"disk\.replacing < bundle_pending\._save": "imports",
    r"disk\.replacing < recovery\._cut": TORN,
    r"disk\.fsync_dir < disk\.make_dir < recovery\._cut": TORN,
    r"disk\.fsync_dir < disk\.replacing < recovery\._cut": TORN,
}
#: Syncs whose loss alone costs nothing, and why.
EXCUSED = {
    r"disk\.fsync_dir < disk\.replacing < anchor\.__init__": "the folder is synced again before the first answer",
    r"disk\.fsync_dir < stream\._create_dir": "opening the stream syncs the same folder again",
    r"disk\.fsync_dir < disk\.replacing < recovery\.written_anew": "the anchor's sync of the folder comes after it",
    r"anchor\.advance < stream\._end < stream\.close": "that a stream was closed in order decides nothing",
    r"stream\._write < stream\.commit < stream\.append": "the same as stream.commit: an import's entry in the catalog",
    r"disk\.fsync_dir < blobs\.keeps < (aside|bundle_takeover)\.": "as for blobs.put; after a kill only",
    r"disk\.fsync_dir < bundle_pending\.end": "an import that is still announced is completed by the same import",
    r"disk\.fsync_dir < disk\.replacing < bundle_pending\._save": "what it announces is in the same folder's next sync",
    r"disk\.fsync_dir < bundle_takeover\._extend": "the anchor's sync of the folder comes right after",
    r"disk\.fsync_dir < (bundle_takeover\.take_over|aside\.adopt_stream)": "the catalog syncs the same folder after it",
    r"disk\.fsync_dir < disk\.make_dir < (bundle_import\._unpack|aside\.adopt_stream)": "a place aside is made anew",
    r"disk\.fsync_dir < disk\.make_dir < (stream\._create_dir|store\._settle)": "made durable with the store",
    r"disk\.fsync_dir < seal\.seal_segments": "sources that come back are passed over and removed again",
    r"(disk\.fsync_dir < )?recovery\._(sync|cut) < recovery": "recovery is done again",
}


def caught(explorer: Explorer, tries: int = 600) -> bool:
    """Whether a power cut is found that the mutant does not survive."""
    seen = set()
    cuts = explorer.cuts(seed=1)[len(explorer.ops) - explorer.scene.turn + 1 :]
    for cut in [*(explorer.left_behind() if explorer.scene.turn else ()), *cuts]:
        case = digest_of(explorer.disk.build(cut)), ledger_at(explorer.ops, cut.at).demands()
        if case not in seen:
            seen.add(case)
            if explorer.attempt(cut) is not None:
                return True
        if len(seen) >= tries:
            break
    return False


@pytest.mark.parametrize("site", LEFT_OUT)
def test_no_sync_can_be_left_out(quick: Path, site: str) -> None:
    """If this failed, the simulator would not notice that a sync is missing, or the sync would be for nothing."""
    left_out: list[Op] = []

    def recorded(_: RecordingLayer, op: Op) -> bool:
        if re.match(site, op.site):
            left_out.append(op)
            return False
        return True

    name = _torn(quick) if LEFT_OUT[site] == TORN else LEFT_OUT[site]
    explorer = Explorer(name, quick, scene_of(name, quick, sync_filter=recorded))
    assert left_out, f"{name} makes no such sync"
    assert caught(explorer)


def _torn(quick: Path) -> str:
    """The name of a scene in which recovery has something to cut off."""
    plain = Explorer("plain", quick / "plain").ops
    writes = [i for i, op in enumerate(plain) if op.kind == "write" and op.site.startswith("stream._write")]
    return f"plain/again={writes[2] + 1} {writes[2]}=head:20"


def _until_the_next(matching: str) -> Callable[[RecordingLayer, Op], bool]:
    """A filter that writes such a sync down only when the next one of any kind is made."""
    held: list[Op] = []

    def recorded(layer: RecordingLayer, op: Op) -> bool:
        layer.trace.ops.extend(held)
        held.clear()
        if re.match(matching, op.site):
            held.append(op)
            return False
        return True

    return recorded


@pytest.mark.parametrize(
    "site", [r"stream\._write < stream\.commit", r"disk\.replacing < "], ids=["answer first", "rename first"]
)
def test_no_sync_may_come_late(quick: Path, site: str) -> None:
    """If this failed, an answer before the sync, or a rename before the file's sync, would go unseen."""
    assert caught(Explorer("plain", quick, scene_of("plain", quick, sync_filter=_until_the_next(site))))


def test_nothing_is_found_where_nothing_is_wrong(quick: Path) -> None:
    """If this failed, the tests above would pass whatever they leave out."""
    assert not caught(Explorer("plain", quick), tries=200)


def test_every_sync_is_accounted_for(quick: Path) -> None:
    """If this failed, somebody added a sync that no test shows to be needed: add it to one of the two tables."""
    scenes = [*SCENES, "plain/kill=53", "plain/kill=93", _torn(quick)]
    sites = {
        op.site
        for number, name in enumerate(scenes)
        for op in scene_of(name, quick / str(number)).layer.trace.ops
        if op.kind == "sync"
    }
    assert len(sites) > 20
    assert [
        site for site in sorted(sites) if not any(re.match(known, site) for known in (*LEFT_OUT, *EXCUSED))
    ] == []


def _example() -> Trace:
    """Two files in a folder: `b` is synced with its name; `a` is written twice, and renamed over `b`."""
    return Trace(
        ops=[
            Op("create", 1, data="file", parent=0, name="b"),
            Op("write", 1, 0, b"old"),
            Op("sync", 1),
            Op("sync", 0),
            Op("create", 2, data="file", parent=0, name="a"),
            Op("write", 2, 0, b"12345"),
            Op("write", 2, 5, b"678"),
            Op("rename", 2, parent=0, name="a", parent2=0, name2="b"),
        ]
    )


@pytest.mark.parametrize(
    ("cut", "tree"),
    [
        ("2 0=lost:0", {}),
        ("2 1=lost:0", {"b": b""}),
        ("4", {"b": b"old"}),
        ("8", {"b": b"12345678"}),
        ("8 5=lost:0 6=lost:0", {"b": b""}),
        ("8 4=lost:0", {"b": b"12345678"}),
        ("8 7=lost:0", {"b": b"old", "a": b"12345678"}),
        ("8 5=lost:0 7=lost:0", {"b": b"old", "a": bytes(5) + b"678"}),
        ("7 6=head:1", {"b": b"old", "a": b"123456"}),
        ("7 6=zeros:1", {"b": b"old", "a": b"123456\0\0"}),
        ("7 5=tail:2", {"b": b"old", "a": bytes(2) + b"345678"}),
    ],
)
def test_the_model_by_hand(cut: str, tree: dict[str, bytes]) -> None:
    """If this failed, the rebuilt disks would not be those that the fault model describes."""
    disk = Disk(_example())
    parsed = Cut.parse(cut)
    assert {index for index, _ in parsed.choices} <= set(disk.pending(parsed.at))
    assert disk.build(parsed) == tree


def test_what_is_pending() -> None:
    """If this failed, something durable would be taken away, or something in doubt would always be kept."""
    disk = Disk(_example())
    assert [disk.pending(at) for at in (2, 3, 4, 8)] == [[0, 1], [0], [], [4, 5, 6, 7]]
    failed = Trace(ops=[Op("write", 1, 0, b"x"), Op("sync_failed", 1), Op("sync", 1)])
    assert Disk(failed).pending(3) == [0]
