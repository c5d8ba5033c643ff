"""What recovery says and keeps: the damaged bytes by name, each torn end once, and never a whole file in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.errors import DamageError
from eventlog.frames import walk_headers
from eventlog.reader import read_lines
from eventlog.seal import seal
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.eventlog.conftest import incoming

COMMITS = 4


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two live segments, COMMITS commits each."""
    made = Store.open(tmp_path / "s", create=True)
    for part in range(2):
        with StreamWriter.open(made, "run", create=not part) as writer:
            for number in range(COMMITS):
                writer.commit([incoming(1, 1 + part * COMMITS + number, 1)])
    return made


@pytest.mark.parametrize("commit", [0, 1, COMMITS - 1], ids=["first", "middle", "last of the segment"])
@pytest.mark.parametrize("segment", [0, 1], ids=["with a segment behind it", "with the anchor behind it"])
def test_what_was_altered_is_named(store: Store, segment: int, commit: int) -> None:
    """If this failed, the frame or the segment behind the damage would be called damaged, and be thrown away for it."""
    path = list_segments(store.stream_path("run"))[segment].path
    with path.open("rb") as file:
        header = list(walk_headers(file))[commit]
    raw = bytearray(path.read_bytes())
    raw[header.end - 3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamageError) as read:
        list(read_lines(store, "run"))
    assert (read.value.path, read.value.offset) == (path, header.offset)
    for use in (seal, StreamWriter.open):
        with pytest.raises(DamageError) as told:
            use(store, "run")
        assert str(told.value) == str(read.value)
    assert path.read_bytes() == bytes(raw)


def test_what_stands_behind_a_sound_seal_is_named_itself(store: Store) -> None:
    """If this failed, looking for who is to blame would blame what is sound."""
    seal(store, "run")
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(1, 2 * COMMITS + 1, 1)])
    sealed, live = (s.path for s in list_segments(store.stream_path("run")))
    other = bytearray(live.read_bytes())
    other[60] ^= 1  # the link that its first header names
    live.write_bytes(other)
    with pytest.raises(DamageError) as told:
        seal(store, "run")
    assert told.value.path == live
    assert sealed.exists()


def test_two_torn_ends_at_one_place_are_both_kept(store: Store) -> None:
    """If this failed, the second torn write of a segment's beginning would replace the copy of the first."""
    directory = store.stream_path("run")
    ends = [b"first", b"second", b"first", b"third"]
    for end in ends:
        (directory / f"{2 * COMMITS + 1:020d}.ndjson.zst").write_bytes(end)
        StreamWriter.open(store, "run").close()
    kept = sorted((directory / "torn").iterdir())
    assert [path.name for path in kept] == [f"{2 * COMMITS + 1:020d}-0{n}.bin" for n in ("-2", "-3", "")]
    assert {path.read_bytes() for path in kept} == set(ends)


def test_a_torn_end_is_copied_in_pieces(store: Store) -> None:
    """If this failed, a segment that a crash left with a gigabyte of zeros would take as much memory to recover."""
    directory = store.stream_path("run")
    path = list_segments(directory)[-1].path
    size = path.stat().st_size
    with path.open("ab") as file:
        file.truncate(size + 64 * 1024 * 1024)
    tracemalloc.start()
    try:
        seal(store, "run")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 1024 * 1024
    (copy,) = (directory / "torn").iterdir()
    assert copy.stat().st_size == 64 * 1024 * 1024
    mark = anchors.load(directory)
    assert mark is not None
    assert mark.last == 2 * COMMITS
