"""What a power cut or an error of the disk once took: found by the wide search, tried here by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.anchor import Anchor
from eventlog.errors import DamageError
from eventlog.reader import read
from eventlog.seal import seal_segments
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import ERROR
from tests.eventlog.conftest import incoming
from tests.faults.explorer import Explorer
from tests.faults.filelayer import RecordingLayer
from tests.faults.powercut import Cut
from tests.faults.scenes import Fault
from tests.faults.test_io_errors import no_second_sync


def everything_left_behind_is_lost(quick: Path, scene: str, last_change: str) -> None:
    """Kill the scene's process after each change made by `last_change`; then lose what it had not synced."""
    changes = [op for op in Explorer(scene, quick / "first").ops if op.kind != "note"]
    kills = [n for n, op in enumerate(changes, 1) if op.kind != "sync" and op.site.startswith(last_change)]
    assert kills
    for after in kills:
        explorer = Explorer(f"{scene}/kill={after}", quick / str(after))
        explorer.explore(explorer.left_behind(), 10_000)


def test_the_name_of_a_stream(quick: Path) -> None:
    """If this failed, a catalog whose maker died at once would vanish with all that was acknowledged in it."""
    everything_left_behind_is_lost(quick, "plain", "stream._create_dir")


def test_the_name_of_a_store(quick: Path) -> None:
    """If this failed, a store whose maker died at once would be none after a power cut, whatever was recorded in it."""
    everything_left_behind_is_lost(quick, "plain", "disk.replacing < store._create")
    everything_left_behind_is_lost(quick / "folders", "plain", "disk.make_dir < store._create")


def test_the_name_of_a_blob(quick: Path) -> None:
    """If this failed, content that a dead process had stored a moment before would be named by an event and lost."""
    everything_left_behind_is_lost(quick, "blobs", "blobs.commit")
    everything_left_behind_is_lost(quick / "folders", "blobs", "disk.make_dir < blobs.commit")


def test_covered_sources(quick: Path) -> None:
    """If this failed, a kill in a seal and a power cut in the recovery from it would lose acknowledged events."""
    everything_left_behind_is_lost(quick, "plain", "disk.replacing < seal._seal_group")


def test_the_file_of_a_failed_sync(quick: Path) -> None:
    """If this failed, a sync would be tried again on a file on which one failed, and the kernel would call it done."""
    for place in range(60, 100):
        no_second_sync(Explorer(f"rolling/fail={place}:ENOSPC:4", quick / str(place)))


def test_what_a_failed_sync_left(quick: Path) -> None:
    """If this failed, refused events would count as durable in the next process, and a power cut would take them."""
    for place in range(60, 100):
        no_second_sync(Explorer(f"rolling/fail={place}:ENOSPC:30", quick / str(place)))


def test_what_a_failed_sync_left_where_it_could_not_be_cut(quick: Path) -> None:
    """If this failed, recovery would sync a file whose sync had failed before, and the kernel would call it done."""
    for place in range(60, 100):
        explorer = Explorer(f"plain/fail={place}:EINTR:2", quick / str(place))
        no_second_sync(explorer)
        explorer.explore([Cut(at) for at in range(len(explorer.ops))][:: max(1, len(explorer.ops) // 12)], 12)


def test_an_anchor_that_could_not_be_made_anew(quick: Path) -> None:
    """If this failed, the anchor would name refused events: after a crash the stream would pass for damaged."""
    told = 0
    for place in range(60, 140):
        explorer = Explorer(f"plain/fail={place}:EROFS:2", quick / str(place))
        failed = [op.site for op in explorer.ops if op.kind == "sync_failed"]
        if failed and failed[0].startswith("anchor.sync < anchor.advance < stream._write"):
            told += 1
            explorer.explore([Cut(at) for at in range(len(explorer.ops))], 10_000)
    assert told


def test_a_half_written_slot(tmp_path: Path) -> None:
    """If this failed, a finished stream would be sealed up to an older mark, and acknowledged events removed."""
    (tmp_path / "run").mkdir()
    with RecordingLayer(tmp_path) as layer:
        anchor = Anchor.first(tmp_path / "run", b"12345678")
        layer.fault = Fault(0, "SHORT")
        with pytest.raises(OSError, match="100 of 512 bytes"):
            anchor.advance(last=1)
        anchor.close()


def test_a_seal_refuses_an_anchor_of_which_a_slot_is_bad(tmp_path: Path) -> None:
    """If this failed, what only the bad slot knew of would be left out of the sealed file, and its segment removed."""
    store = Store.open(tmp_path / "s", create=True)
    with StreamWriter.open(store, "run", create=True) as writer:
        for number in range(1, 4):
            writer.commit([incoming(1, number, 1)])
        path = store.stream_path("run")
        whole = (path / "anchor").read_bytes()
        newest = max(range(2), key=lambda i: int.from_bytes(whole[512 * i + 8 : 512 * i + 16], "little"))
        torn = bytearray(whole)
        torn[512 * newest + 100 : 512 * newest + 120] = b"x" * 20
        (path / "anchor").write_bytes(torn)
        with pytest.raises(DamageError, match="a slot is damaged"):
            seal_segments(path)
        (path / "anchor").write_bytes(whole)
    assert len(list(read(store, "run"))) == 3


def test_a_refused_segment_does_not_end_the_recorder(quick: Path) -> None:
    """If this failed, a finish after a refused commit whose file could not be removed would be a stack trace."""
    for place in range(115, 135):
        explorer = Explorer(f"plain/fail={place}:EIO:3", quick / str(place))
        explorer.check_complete()


def test_a_torn_write_that_was_refused_is_no_doubt(tmp_path: Path) -> None:
    """If this failed, a power cut that brings back a refused write and tears a slot of the anchor would end reading:
    an event that nobody acknowledged would be said to be damaged."""
    store = Store.open(tmp_path / "s", create=True)
    path = store.stream_path("run")
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([incoming(1, 1, 4)])
        mark = anchors.load(path)
        whole = list_segments(path)[0].path.stat().st_size
        writer.commit([incoming(1, 5, 1)])
    assert mark is not None
    segment = list_segments(path)[0].path
    os.truncate(segment, segment.stat().st_size - 20)
    assert segment.stat().st_size > whole
    Anchor(path, mark._replace(segment=0, offset=0)).close()
    with (path / anchors.NAME).open("r+b") as file:
        file.write(bytes(40))
    assert [event.seq for event in read(store, "run")] == [1, 2, 3, 4]
    told = [problem.cause for problem in verify(store).problems if problem.severity == ERROR]
    assert told == ["an anchor slot is damaged; the other one is used"]


def test_what_a_seal_left_out_is_not_missed(tmp_path: Path) -> None:
    """If this failed, a crash between a seal and the removal of its sources would end reading, for an event that the
    disk had refused."""
    store = Store.open(tmp_path / "s", create=True)
    path = store.stream_path("run")
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([incoming(1, 1, 2)])
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(1, 3, 1)])
        anchor = (path / anchors.NAME).read_bytes()
        writer.commit([incoming(1, 4, 1)])
        source = list_segments(path)[-1].path
        content = source.read_bytes()
        (path / anchors.NAME).write_bytes(anchor)
        seal_segments(path)
    source.write_bytes(content)
    (path / anchors.NAME).write_bytes(anchor)
    assert [segment.first for segment in list_segments(path)] == [1, 3]
    assert [event.seq for event in read(store, "run")] == [1, 2, 3]
    assert [problem for problem in verify(store).problems if problem.severity == ERROR] == []
    with StreamWriter.open(store, "run") as writer:
        assert writer.last_seq == 3
