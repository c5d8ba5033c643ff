"""The writer: acknowledged means durable, once, in order; a new segment at every open."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from eventlog import anchor as anchors
from eventlog.errors import DamageError, RecorderRefused, StoreError, StreamBusy, StreamNotFound
from eventlog.reader import read, stream_state
from eventlog.segments import is_sealed, list_segments, name_of
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter
from tests.eventlog.conftest import filled, incoming, line


def calls(store: Store, name: str = "run") -> list[str]:
    """The `call` of every event, after checking that seq is dense."""
    events = list(read(store, name))
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    return [e.data["call"] for e in events]


def test_resend_is_recorded_once(store: Store) -> None:
    """If this failed, a producer that lost its answer would double its events."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([incoming(1, 1, 3)])
        (ack,) = writer.commit([incoming(1, 2, 4)])
        assert (ack.first_seq, ack.last_seq, ack.duplicates) == (4, 5, 2)
        (ack,) = writer.commit([incoming(1, 1, 5)])
        assert (ack.first_seq, ack.last_seq, ack.duplicates) == (None, None, 5)
    assert calls(store) == [f"1:{n}" for n in range(1, 6)]


@pytest.mark.parametrize("finish", [False, True])
def test_resend_after_reopening_is_recorded_once(store: Store, finish: bool) -> None:
    """If this failed, a recorder's restart (or sealing) would forget what it had already recorded."""
    writer = StreamWriter.open(store, "run", create=True)
    writer.commit([incoming(1, 1, 3), incoming(2, 1, 2)])
    writer.finish() if finish else writer.close()
    for _ in range(2):
        with StreamWriter.open(store, "run") as writer:
            acks = writer.commit([incoming(1, 1, 3), incoming(2, 2, 1)])
            assert [a.last_seq for a in acks] == [None, None]
            writer.commit([incoming(3, 1, 1)])
    assert len(calls(store)) == 6


def test_same_producer_twice_in_one_commit(store: Store) -> None:
    """If this failed, two requests of one producer in one group commit could swap or double."""
    with StreamWriter.open(store, "run", create=True) as writer:
        acks = writer.commit([incoming(1, 1, 2), incoming(2, 1, 1), incoming(1, 2, 2)])
    assert [(a.last_seq, a.duplicates) for a in acks] == [(2, 0), (3, 0), (4, 1)]
    assert calls(store) == ["1:1", "1:2", "2:1", "1:3"]


def test_a_gap_of_a_producer_is_refused(store: Store) -> None:
    """If this failed, a lost batch would go unnoticed."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([incoming(1, 1, 2)])
        (ack,) = writer.commit([incoming(1, 5, 1)])
        assert ack.error is not None
        assert "3 to 4" in ack.error
    assert len(calls(store)) == 2


def test_large_commit_is_cut_into_small_frames(store: Store) -> None:
    """If this failed, a torn live frame could exceed what DuckDB passes over cleanly."""
    with StreamWriter.open(store, "run", create=True) as writer:
        writer.commit([Incoming(b"p" * 16, 1, [line("y" * 1000 + str(i)) for i in range(1000)])])
    from eventlog.frames import LIVE_CONTENT, walk_headers

    with list_segments(store.stream_path("run"))[0].path.open("rb") as file:
        headers = list(walk_headers(file))
    assert len(headers) > 5
    assert all(h.content_len <= LIVE_CONTENT for h in headers)
    assert len(calls(store)) == 1000


def test_one_writer_at_a_time(store: Store) -> None:
    """If this failed, two recorders could write into one stream."""
    with StreamWriter.open(store, "run", create=True):
        with pytest.raises(StreamBusy, match=str(os.getpid())):
            StreamWriter.open(store, "run", lock_wait_s=0.05)
        assert stream_state(store, "run").live
    assert not stream_state(store, "run").live


def test_names_and_absence(store: Store) -> None:
    """If this failed, a wrong stream name would be created, or would leave the store."""
    with pytest.raises(StreamNotFound):
        StreamWriter.open(store, "absent")
    with pytest.raises(StreamNotFound):
        StreamWriter.open(store, "../x", create=True)
    StreamWriter.open(store, "run", create=True).close()
    with pytest.raises(StoreError, match="exists"):
        StreamWriter.open(store, "run", create=True)


def test_every_open_begins_a_new_segment(store: Store) -> None:
    """If this failed, a recovered tail would be appended to again."""
    filled(store)
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(2, 1, 1)])
    assert [s.first for s in list_segments(store.stream_path("run"))] == [1, 21]


def test_finish_seals_and_reopening_goes_on(store: Store) -> None:
    """If this failed, a resumed run would lose what came before, or stay in many small files."""
    expected = filled(store)
    for round_ in range(3):
        writer = StreamWriter.open(store, "run")
        writer.commit([incoming(round_ + 2, 1, 2)])
        expected += [f"{round_ + 2}:1", f"{round_ + 2}:2"]
        writer.finish()
        state = stream_state(store, "run")
        assert (state.finished, state.segments, state.sealed, state.last_seq) == (True, 1, 1, len(expected))
        assert calls(store) == expected


def test_failed_write_gives_the_segment_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, the recorder would append after a torn write or acknowledge what is not on disk."""
    writer = StreamWriter.open(store, "run", create=True)
    writer.commit([incoming(1, 1, 2)])
    real = os.write

    def half(fd: int, data: bytes) -> int:
        return real(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(RecorderRefused, match="bytes could be written"):
        writer.commit([incoming(1, 3, 2)])
    monkeypatch.undo()
    writer.commit([incoming(1, 3, 2)])
    writer.close()
    assert calls(store) == ["1:1", "1:2", "1:3", "1:4"]
    assert len(list_segments(store.stream_path("run"))) == 2


@pytest.mark.parametrize("cut_fails", [False, True])
def test_failed_sync_is_never_retried_on_the_same_file(
    store: Store, monkeypatch: pytest.MonkeyPatch, cut_fails: bool
) -> None:
    """If this failed, a failed fsync would be followed by a success that means nothing."""
    writer = StreamWriter.open(store, "run", create=True)
    writer.commit([incoming(1, 1, 2)])
    with monkeypatch.context() as patch:

        def refuse(*_: int) -> None:
            raise OSError(5, "Input/output error")

        patch.setattr(os, "fdatasync", refuse)
        if cut_fails:
            patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(RecorderRefused, match="Input/output"):
            writer.commit([incoming(1, 3, 2)])
    writer.commit([incoming(1, 3, 2)])
    writer.close()
    assert calls(store) == ["1:1", "1:2", "1:3", "1:4"]
    assert len(list_segments(store.stream_path("run"))) == 2
    with StreamWriter.open(store, "run") as writer:
        assert writer.last_seq == 4
        assert len(writer.recovered.cut) == (1 if cut_fails else 0)
    assert calls(store) == ["1:1", "1:2", "1:3", "1:4"]


def test_many_small_opens_are_merged(store: Store) -> None:
    """If this failed, a catalog of single appends would grow one file an append for ever."""
    StreamWriter.open(store, "catalog", create=True).close()
    for index in range(100):
        with StreamWriter.open(store, "catalog") as writer:
            writer.commit([incoming(index + 1, 1, 1)])
    assert len(list_segments(store.stream_path("catalog"))) <= 33
    assert len(calls(store, "catalog")) == 100


@pytest.mark.needs("zstd", "jq")
@pytest.mark.parametrize("sealed", [False, True])
def test_real_tools_read_every_segment(store: Store, sealed: bool) -> None:
    """If this failed, a user without hemra could not read their own log."""
    import duckdb

    writer = StreamWriter.open(store, "run", create=True)
    odd = ["cut \ud83d", b"\xff\x00", float("nan"), 2**64, {"\ud800": "\x00"}, "007"]
    from eventlog.schemas.conversation import ToolCalled

    for index, value in enumerate(odd * 50):
        writer.append(ToolCalled(call=str(index), name="t", arguments=value))
    if sealed:
        writer.finish()
    (segment,) = list_segments(store.stream_path("run"))
    assert is_sealed(segment) == sealed
    plain = subprocess.run(["zstd", "-dc", str(segment.path)], capture_output=True, check=True)
    assert plain.stderr == b""
    seqs = subprocess.run(["jq", "-c", ".seq"], input=plain.stdout, capture_output=True, check=True)
    assert [int(n) for n in seqs.stdout.split()] == list(range(1, 301))
    with duckdb.connect() as db:
        sql = "SELECT count(*), max(seq) FROM read_ndjson(?, compression='zstd', columns={seq: 'BIGINT', data: 'JSON'})"
        assert db.execute(sql, [str(segment.path)]).fetchone() == (300, 300)
    if not sealed:
        writer.close()


def test_lost_first_commit_leaves_nothing(store: Store) -> None:
    """If this failed, a crash before the first sync would make a stream unopenable."""
    StreamWriter.open(store, "run", create=True).close()
    (store.stream_path("run") / name_of(1)).write_bytes(b"half a frame")
    with StreamWriter.open(store, "run") as writer:
        assert writer.last_seq == 0
        writer.commit([incoming(1, 1, 1)])
    assert calls(store) == ["1:1"]


def test_anchor_slot_damage_falls_back_but_is_reported(store: Store) -> None:
    """If this failed, a flipped bit in the anchor would silently lower the durable mark."""
    from eventlog.verify import verify

    expected = filled(store)
    path = store.stream_path("run") / anchors.NAME
    raw = bytearray(path.read_bytes())
    for bit in (0, 100, 511, 512, 700, 1023):
        flipped = bytearray(raw)
        flipped[bit] ^= 1
        path.write_bytes(flipped)
        assert not verify(store, ["run"]).ok, bit
    path.unlink()
    assert not verify(store, ["run"]).ok
    with pytest.raises(DamageError, match="anchor"):
        calls(store)
    found: list[DamageError] = []
    assert [e.data["call"] for e in read(store, "run", on_damage=found.append)] == expected
    assert len(found) == 1
    with StreamWriter.open(store, "run") as writer:
        assert writer.last_seq == len(expected)


def test_missing_segments_are_damage(store: Store, tmp_path: Path) -> None:
    """If this failed, a deleted file would read as a shorter run."""
    filled(store)
    for producer in (2, 3):
        with StreamWriter.open(store, "run") as writer:
            writer.commit([incoming(producer, 1, 5)])
    segments = list_segments(store.stream_path("run"))
    for victim in segments:
        kept = tmp_path / "kept"
        shutil.move(victim.path, kept)
        with pytest.raises(DamageError, match="missing"):
            list(read(store, "run"))
        with pytest.raises(DamageError, match="missing"):
            StreamWriter.open(store, "run")
        shutil.move(kept, victim.path)
    assert len(calls(store)) == 30


def test_full_segments_are_sealed_while_appends_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a long run would keep everything in small live frames, or lose events when sealing."""
    import threading

    from eventlog import stream as streams

    monkeypatch.setattr(streams, "ROLL_BYTES", 20_000)
    monkeypatch.setattr(streams, "SEAL_BACKLOG", 2)
    writer = StreamWriter.open(store, "run", create=True)
    expected = []
    for index in range(200):
        writer.commit([incoming(1, 1 + index * 20, 20)])
        expected += [f"1:{index * 20 + 1 + i}" for i in range(20)]
        if index % 50 == 0:
            assert calls(store) == expected
    for thread in threading.enumerate():
        if thread.name == "seal":
            thread.join()
    assert stream_state(store, "run").sealed >= 1
    assert calls(store) == expected
    writer.finish()
    assert calls(store) == expected


def test_finish_on_a_full_disk_still_finishes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, a disk too full to seal would leave a complete run looking unfinished."""
    from eventlog import seal

    writer = StreamWriter.open(store, "run", create=True)
    writer.commit([incoming(1, 1, 2)])

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(seal, "seal_segments", full)
    with pytest.raises(RecorderRefused, match="log seal"):
        writer.finish()
    assert stream_state(store, "run").finished
    assert calls(store) == ["1:1", "1:2"]


def test_many_threads_read_at_once(store: Store) -> None:
    """If this failed, two readers in one process would see damage that is not there."""
    from concurrent.futures import ThreadPoolExecutor

    writer = StreamWriter.open(store, "run", create=True)
    for index in range(40):
        writer.commit([Incoming(b"p" * 16, 1 + index * 100, [line("y" * 500 + str(i)) for i in range(100)])])

    def count(_: int) -> int:
        return sum(1 for _ in read(store, "run"))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(count, range(64))) == {4000}
    writer.close()


def test_sealing_never_touches_the_segment_that_is_being_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a segment begun while others are sealed would be deleted with what it acknowledged."""
    from eventlog import manifest
    from eventlog.seal import seal_segments

    filled(store)
    writer = StreamWriter.open(store, "run")
    save = manifest.save

    def save_and_append(directory: Path, written: manifest.Manifest) -> None:
        save(directory, written)
        writer.commit([incoming(2, 1, 3)])

    monkeypatch.setattr(manifest, "save", save_and_append)
    seal_segments(store.stream_path("run"), below=21)
    monkeypatch.undo()
    writer.close()
    assert len(calls(store)) == 23


def test_an_append_after_a_refusal_is_recorded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this failed, every append after a full disk would be answered and not recorded."""
    from eventlog.schemas.conversation import ToolCalled

    event = ToolCalled(call="x", name="t", arguments=None)
    with StreamWriter.open(store, "run", create=True) as writer:
        assert writer.append(event) == 1

        def refuse(*_: object) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", refuse)
            with pytest.raises(RecorderRefused, match="No space"):
                writer.append(event)
        assert [writer.append(event) for _ in range(3)] == [2, 3, 4]
    assert calls(store) == ["x"] * 4


def test_reading_goes_on_while_segments_are_merged(store: Store) -> None:
    """If this failed, a reader under way at the end of a run would see damage that is not there."""
    from eventlog.seal import seal

    expected = filled(store)
    for producer in (2, 3, 4):
        with StreamWriter.open(store, "run") as writer:
            writer.commit([incoming(producer, 1, 5)])
        expected += [f"{producer}:{n}" for n in range(1, 6)]
    for taken in range(len(expected)):
        reading = read(store, "run")
        got = [next(reading).data["call"] for _ in range(taken)]
        if taken == 22:
            seal(store, "run")
        got += [e.data["call"] for e in reading]
        assert got == expected


def test_the_most_recent_producers_are_remembered_across_seals(store: Store) -> None:
    """If this failed, a busy producer's resend would be recorded twice after a restart."""
    from eventlog.producers import MAX_PRODUCERS

    writer = StreamWriter.open(store, "run", create=True)
    writer.commit([incoming(1, 1, 1)])
    writer.commit([incoming(producer, 1, 1) for producer in range(2, MAX_PRODUCERS + 1)])
    writer.commit([incoming(1, 2, 1)])
    writer.finish()
    with StreamWriter.open(store, "run") as writer:
        writer.commit([incoming(MAX_PRODUCERS + 1, 1, 1)])
        (ack,) = writer.commit([incoming(1, 2, 1)])
    assert ack.duplicates == 1
