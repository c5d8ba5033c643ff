"""After a power cut the anchor may be a moment behind: nothing acknowledged is hidden, refused or lost by that."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.errors import DamageError
from eventlog.follow import follow
from eventlog.frames import walk_headers
from eventlog.reader import read, stream_state
from eventlog.segments import list_segments
from eventlog.standing import standing
from eventlog.store import Store
from eventlog.stream import StreamWriter
from eventlog.verify import verify
from eventlog.verify_report import ERROR
from tests.eventlog.conftest import incoming

COMMITS = 6


@pytest.fixture
def cut(store: Store) -> Path:
    """A stream whose writer lost its power: COMMITS events, the anchor as it was synced with the first."""
    writer = StreamWriter.open(store, "run", create=True)
    directory = store.stream_path("run")
    writer.commit([incoming(1, 1, 1)])
    synced = (directory / anchors.NAME).read_bytes()
    for number in range(2, COMMITS + 1):
        writer.commit([incoming(1, number, 1)])
    assert not writer.settled
    live = list_segments(directory)[0].path.read_bytes()
    writer.close()
    (directory / anchors.NAME).write_bytes(synced)
    segment(directory).write_bytes(live)
    return directory


def calls(store: Store) -> list[str]:
    """Which events the stream gives, by producer and number."""
    return [event.data["call"] for event in read(store, "run")]


def problems(store: Store, severity: str = ERROR) -> list[str]:
    """Causes of the problems that verify finds."""
    return [f"{p.path.name}:{p.offset}: {p.cause}" for p in verify(store).problems if p.severity == severity]


def segment(directory: Path) -> Path:
    """The one live segment."""
    (only,) = list_segments(directory)
    return only.path


def test_what_stands_whole_behind_the_mark_is_read_verified_and_kept(store: Store, cut: Path) -> None:
    """If this failed, a power cut would hide or lose acknowledged events of the last moments."""
    mark = anchors.load(cut)
    assert mark is not None
    assert (mark.last, mark.state) == (1, anchors.OPEN)
    everything = [f"1:{n}" for n in range(1, COMMITS + 1)]
    assert calls(store) == everything
    assert stream_state(store, "run").last_seq == COMMITS
    assert problems(store) == []
    assert any("whole frames go on to 6" in text for text in problems(store, "note"))
    with StreamWriter.open(store, "run") as writer:
        assert writer.recovered.cut == []
        writer.commit([incoming(1, COMMITS + 1, 1)])
        writer.finish()
    assert calls(store) == [*everything, f"1:{COMMITS + 1}"]
    assert [e.seq for e in follow(store, "run")] == list(range(1, COMMITS + 2))
    assert problems(store) == []


def test_a_broken_frame_before_whole_ones_is_damage_and_named(store: Store, cut: Path) -> None:
    """If this failed, acknowledged events could be cut away as if they were a torn write."""
    path = segment(cut)
    with path.open("rb") as file:
        headers = list(walk_headers(file))
    broken = bytearray(path.read_bytes())
    broken[headers[2].end - 3] ^= 1
    path.write_bytes(broken)
    assert any(text.startswith(f"{path.name}:{headers[2].offset}: ") for text in problems(store))
    with pytest.raises(DamageError) as found:
        StreamWriter.open(store, "run")
    assert (found.value.path, found.value.offset) == (path, headers[2].offset)
    assert path.read_bytes() == bytes(broken)


def test_a_broken_last_frame_is_copied_aside_and_told(store: Store, cut: Path) -> None:
    """If this failed, the one doubt that a power cut leaves would be resolved in silence."""
    path = segment(cut)
    with path.open("rb") as file:
        last = list(walk_headers(file))[-1]
    raw = path.read_bytes()
    path.write_bytes(raw[:-5])
    assert problems(store) == []
    assert any("never acknowledged" in text for text in problems(store, "note"))
    with StreamWriter.open(store, "run") as writer:
        (copy,) = writer.recovered.cut
        assert Path(copy).read_bytes() == raw[last.offset : -5]
        assert writer.last_seq == COMMITS - 1


def test_while_the_writer_lives_its_mark_alone_counts(store: Store) -> None:
    """If this failed, readers would show events that are not synced and may be refused."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([incoming(1, 1, 1)])
        directory = store.stream_path("run")
        before = (directory / anchors.NAME).read_bytes()
        writer.commit([incoming(1, 2, 1)])
        (directory / anchors.NAME).write_bytes(before)  # as if the second commit were not acknowledged yet
        mark = standing(directory)
        assert mark is not None
        assert mark.last == 1
        assert [e.seq for e in read(store, "run")] == [1]


def test_a_torn_write_of_the_anchor_leaves_the_mark_that_was_synced(store: Store) -> None:
    """If this failed, a power cut in a write of the anchor could take both of its slots."""
    writer = StreamWriter.open(store, "run", create=True)
    path = store.stream_path("run") / anchors.NAME
    writer.commit([incoming(1, 1, 1)])
    synced = path.read_bytes()
    for number in range(2, 30):
        writer.commit([incoming(1, number, 1)])
        now = path.read_bytes()
        if writer.settled:
            synced = now
        changed = [at for at in range(len(now)) if now[at] != synced[at]]
        assert len({at // 512 for at in changed}) <= 1, "both slots were written since the last sync"
    writer.close()


def test_the_anchor_is_synced_soon_however_commits_come(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, the time for which a power cut leaves a doubt would have no bound."""
    monkeypatch.setattr(anchors, "SYNC_S", 0.0)
    with StreamWriter.open(store, "run", create=True) as writer:
        for number in range(1, 4):
            writer.commit([incoming(1, number, 1)])
            assert writer.settled
        monkeypatch.setattr(anchors, "SYNC_S", 1000.0)
        writer.commit([incoming(1, 4, 1)])
        assert not writer.settled
        writer.settle()
        assert writer.settled
