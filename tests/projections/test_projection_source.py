"""What is handed to DuckDB: exactly the events that the log holds, or a clear error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from eventlog import seal
from eventlog.errors import DamageError, LogError
from eventlog.frames import walk
from eventlog.schemas import conversation as c
from eventlog.segments import list_segments, visible_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from projections import cache, query, source, sql
from projections.errors import NotTrusted, RunNotFound
from projections.scratch import scratch
from tests.projections.synthetic_runs import SyntheticRun, new_store


def small_run(store: Store, run: str = "20261130-194512-aa0001") -> SyntheticRun:
    """Two tasks, two harnesses, all four trials done, not yet ended."""
    made = SyntheticRun(store, run).begin()
    for trial in made.trials.values():
        made.trial(trial, 1.0)
    return made


def padded(run: SyntheticRun, events: int = 3000) -> None:
    """Fill the run with output that does not compress away, over several sealed frames."""
    for i in range(events):
        text = os.urandom(500).hex()
        run.event(c.TerminalOutput(terminal="t", stream="stdout", offset=i * 1000, data=text), "0001")


def cut_out_a_frame(path: Path) -> None:
    """Remove the second frame of a sealed file, header and all; trailer and seek table stay."""
    with path.open("rb") as file:
        units = list(walk(file))
    content = path.read_bytes()
    second = units[1].header
    path.write_bytes(content[: second.offset] + content[second.end :])


def test_sealed_and_unsealed_segments_read_the_same(tmp_path: Path) -> None:
    """Sealing would change what a run's tables hold."""
    store = new_store(tmp_path)
    run = small_run(store).leave()
    before = query.trials(store, run)
    seal.seal(store, run)
    assert query.trials(store, run) == before
    assert [row["result"] for row in before] == ["passed"] * 4


def test_live_stream_is_read_up_to_the_durable_mark(tmp_path: Path) -> None:
    """A run could not be looked at while it happens, or would show what is not durable."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    run.trial("0001", 1.0)
    run.commit()
    assert query.report(store, run.run)["status"] == "running"
    assert [t["state"] for t in query.trials(store, run.run)] == ["finished", "waiting", "waiting", "waiting"]
    run.start("0002")
    run.commit()
    assert [t["state"] for t in query.trials(store, run.run)] == ["finished", "running", "waiting", "waiting"]
    run.leave()
    assert [t["result"] for t in query.trials(store, run.run)] == [
        "passed",
        "interrupted",
        "not_started",
        "not_started",
    ]


def test_old_snapshot_of_a_growing_stream(tmp_path: Path) -> None:
    """A report begun before more events came would fail or mix two states."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    run.commit()
    at = source.snapshot(store, run.run)
    run.trial("0001", 1.0)
    run.end()
    with source.opened(store, at, sql.types_read(["trials"])) as connection:
        sql.build(connection, ["trials"])
        assert {row["result"] for row in sql.rows(connection, "SELECT result FROM trials")} == {"waiting"}
        assert sql.rows(connection, "SELECT max(seq) AS last FROM events") == [{"last": at.last}]


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"rubbish", b"P*M\x18" + b"\x40\0\0\0HMRA"])
def test_torn_tail_does_not_show(tmp_path: Path, tail: bytes) -> None:
    """What a killed recorder left above the mark would break every report."""
    store = new_store(tmp_path)
    run = small_run(store).leave()
    before = query.report(store, run)
    segment = list_segments(store.stream_path(run))[-1].path
    segment.write_bytes(segment.read_bytes() + tail)
    query.cache.discard(store, run)
    assert query.report(store, run) == before


def test_missing_frame_is_noticed(tmp_path: Path) -> None:
    """DuckDB reads a file without one of its frames as fewer rows: a wrong report without a word."""
    store = new_store(tmp_path)
    made = small_run(store)
    padded(made)
    run = made.end()
    query.report(store, run)
    query.cache.discard(store, run)
    cut_out_a_frame(visible_segments(store.stream_path(run))[0].path)
    with pytest.raises(NotTrusted, match=rf"rows .* were read where the log holds .*hemra log verify {run}"):
        query.report(store, run)
    assert query.list_runs(store)[0]["status"] == "unreadable"


def test_flipped_bit_is_noticed(tmp_path: Path) -> None:
    """A rotten byte in a sealed segment would go unnoticed."""
    store = new_store(tmp_path)
    made = small_run(store)
    padded(made, 200)
    run = made.end()
    path = visible_segments(store.stream_path(run))[0].path
    content = bytearray(path.read_bytes())
    with path.open("rb") as file:
        unit = next(walk(file))
    content[unit.header.offset + unit.header.size + unit.header.frame_len // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(NotTrusted, match="hemra log verify"):
        query.report(store, run)


def test_segment_cut_below_the_mark_is_noticed(tmp_path: Path) -> None:
    """Acknowledged events that are gone would be left out in silence."""
    store = new_store(tmp_path)
    run = small_run(store).leave()
    path = list_segments(store.stream_path(run))[-1].path
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamageError, match=path.name):
        query.report(store, run)


def test_line_with_a_trailer_is_noticed(tmp_path: Path) -> None:
    """A reader that takes `{...}RUBBISH` for a whole line hides damage."""
    store = new_store(tmp_path)
    run = small_run(store).end()
    at = source.snapshot(store, run)
    path = visible_segments(store.stream_path(run))[0].path
    with scratch(store) as room:
        content = (
            zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read()
        )
        lines = content.splitlines()
        lines[3] += b"TRAILER"
        bad = room.folders[0] / "bad.ndjson.zst"
        bad.write_bytes(zstandard.compress(b"\n".join(lines) + b"\n"))
        connection = source._connect(room)

        def handed_over() -> None:
            source._read(connection, [str(bad)], [], ["run.planned"])
            source._check(connection, at)

        with pytest.raises((duckdb.Error, NotTrusted)):
            handed_over()
        connection.close()


def test_large_plan_comes_back_from_its_blob(tmp_path: Path) -> None:
    """A plan too large for one event would have no tasks in the report."""
    store = new_store(tmp_path)
    tasks = [f"t{i:04d}/with_a_rather_long_name_so_that_the_plan_grows" for i in range(400)]
    run = SyntheticRun(store, tasks=tasks, harnesses=("alpha",)).begin()
    run.trial("0001", 1.0)
    name = run.end()
    report = query.report(store, name)
    assert report["planned"] == 400
    assert report["dataset"]["tasks"] == 400
    assert [p["result"] for p in report["partition"]] == ["passed", "not_started"]


def test_lost_blob_of_a_plan_is_an_error(tmp_path: Path) -> None:
    """A plan whose blob is gone would be shown as a run without tasks."""
    store = new_store(tmp_path)
    tasks = [f"t{i:04d}/with_a_rather_long_name_so_that_the_plan_grows" for i in range(400)]
    run = SyntheticRun(store, tasks=tasks, harnesses=("alpha",)).begin().leave()
    for blob in (store.blobs.root / "sha256").rglob("*"):
        if blob.is_file():
            blob.unlink()
    with pytest.raises(LogError, match="is not in this store"):
        query.report(store, run)


def test_odd_texts_are_shown_as_far_as_they_can_be(tmp_path: Path) -> None:
    """A reason with a lone surrogate or of 100 KB would break the table or swallow it."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    run.start("0001")
    run.finish("0001", "infra_error", reason="broken \ud800 text")
    run.start("0002")
    run.finish("0002", "infra_error", reason="long " * 20_000)
    trials = query.trials(store, run.end())
    assert trials[0]["reason"] == "broken ��� text"
    assert trials[1]["reason"].startswith("long long")
    assert trials[1]["reason"].endswith("…")


def test_old_versions_are_brought_to_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB reads the segments themselves, so events of an old version would be read as if they were new."""
    from eventlog.schemas.base import UPCASTS

    store = new_store(tmp_path)
    run = small_run(store).end()
    monkeypatch.setitem(UPCASTS, ("trial.finished", 1), lambda data: {**data, "outcome": "unknown"})
    assert {t["outcome"] for t in query.trials(store, run)} == {"unknown"}


def test_later_versions_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a later hemra would be reported without saying that it may not be understood."""
    store = new_store(tmp_path)
    made = small_run(store)
    monkeypatch.setattr(c.NoteRecorded, "v", 2)
    made.event(c.NoteRecorded(level="info", code="x", text="y"))
    assert "note.recorded version 2" in query.report(store, made.end())["warnings"][-1]


def test_connection_is_closed_to_the_outside(tmp_path: Path) -> None:
    """A table name could pick up a Python variable, or a query could fetch an extension from the network."""
    store = new_store(tmp_path)
    run = small_run(store).end()
    at = source.snapshot(store, run)
    events_like = [1, 2, 3]
    with source.opened(store, at, []) as connection:
        settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
        assert settings["python_enable_replacements"] == "false"
        assert settings["autoinstall_known_extensions"] == "false"
        assert settings["autoload_known_extensions"] == "false"
        assert settings["temp_directory"].startswith(str(store.cache))
        with pytest.raises(duckdb.Error, match="events_like"):
            connection.execute("SELECT * FROM events_like")
    assert events_like
    assert list((store.cache / "scratch").iterdir()) == []


def test_unneeded_payloads_are_not_loaded(tmp_path: Path) -> None:
    """A report would hold the terminal output of a whole run in memory."""
    store = new_store(tmp_path)
    made = small_run(store)
    padded(made, 50)
    at = source.snapshot(store, made.end())
    with source.opened(store, at, sql.types_read(["trials"])) as connection:
        found = sql.rows(
            connection,
            "SELECT count(*) AS n, count(data) AS loaded FROM events WHERE type = 'terminal.output'",
        )
    assert found == [{"n": 50, "loaded": 0}]


def test_stream_without_a_plan(tmp_path: Path) -> None:
    """A run that died before its plan, or a stream that is no run, would end in a traceback."""
    store = new_store(tmp_path)
    with StreamWriter.open(store, "20261130-194512-empty", create=True):
        pass
    with pytest.raises(RunNotFound, match="holds no plan"):
        query.report(store, "20261130-194512-empty")
    with pytest.raises(LogError, match="no stream"):
        query.report(store, "20261130-000000-nothere")


@pytest.mark.parametrize("anchor", [None, b"xx", b"\0" * 1024])
@pytest.mark.parametrize("sealed", [True, False])
def test_lost_anchor_is_told(tmp_path: Path, anchor: bytes | None, sealed: bool) -> None:
    """Nobody knows where such a log ends: a report of it would be made of what happens to be left."""
    store = new_store(tmp_path)
    run = small_run(store).end() if sealed else small_run(store).leave()
    query.report(store, run)
    path = store.stream_path(run) / "anchor"
    path.unlink()
    if anchor is not None:
        path.write_bytes(anchor)
    for reading in (query.report, query.trials, query.show, cache.replay):
        with pytest.raises(DamageError, match="anchor is missing or unreadable"):
            reading(store, run)
    (row,) = query.list_runs(store)
    assert (row["name"], row["status"], "anchor" in row["error"]) == ("synthetic", "unreadable", True)


@pytest.mark.parametrize("places", ["the temp folder", "memory"])
def test_a_full_disk_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: str
) -> None:
    """A store on a full disk could not be looked at, which is what would tell what to remove."""
    store = new_store(tmp_path)
    run = small_run(store).leave()
    expected = query.trials(store, run)
    cache.discard(store, run)
    opened = Path.open
    refused = []

    def full(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "w" in mode and (places == "memory" or path.is_relative_to(store.path)):
            refused.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", full)
    assert query.trials(store, run) == expected
    assert query.resolve_run(store, "synthetic") == run
    assert query.list_runs(store)[0]["status"] == "incomplete"
    assert {path.name for path in refused} >= {"unsealed.ndjson"}


def test_a_name_is_found_in_a_damaged_run(tmp_path: Path) -> None:
    """A damaged run could not be named, though its log says its name in the first line."""
    store = new_store(tmp_path)
    made = small_run(store)
    padded(made)
    run = made.end()
    path = visible_segments(store.stream_path(run))[-1].path
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(LogError):
        query.report(store, run)
    assert query.resolve_run(store, "synthetic") == run


def test_segments_sealed_under_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that merges segments between listing and reading would make a report fail."""
    store = new_store(tmp_path)
    run = small_run(store).leave()
    with StreamWriter.open(store, run) as writer:
        writer.append(c.NoteRecorded(level="info", code="x", text="y"))
    seal.seal(store, run)
    listed = source._files
    calls = []

    def stale(*arguments: object) -> tuple[list[str], list[str]]:
        calls.append(1)
        sealed, plain = listed(*arguments)  # type: ignore[arg-type]
        return ([*sealed, str(tmp_path / "gone.ndjson.zst")], plain) if len(calls) == 1 else (sealed, plain)

    monkeypatch.setattr(source, "_files", stale)
    assert len(query.trials(store, run)) == 4
    assert len(calls) == 2


def test_ctrl_c_stops_a_query(tmp_path: Path) -> None:
    """Ctrl-C during a long projection would be ignored until it is done."""
    program = """
import duckdb, os, signal, threading
from projections.source import interruptible
connection = duckdb.connect()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
query = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"
try:
    interruptible(connection, lambda: connection.execute(query).fetchall())
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "stopped\n", done.stderr


def test_scratch_of_a_killed_process_goes(tmp_path: Path) -> None:
    """What killed processes left in the cache would pile up, or the scratch of a living one be removed."""
    store = new_store(tmp_path)
    parent = store.cache / "scratch"
    for name, age in (("hemra-old", 2 * 24 * 3600), ("hemra-new", 60)):
        folder = parent / name
        folder.mkdir(parents=True)
        (folder / "spill").write_bytes(b"x")
        changed = folder.stat().st_mtime - age
        os.utime(folder, (changed, changed))
    with scratch(store) as own:
        assert sorted(p.name for p in parent.iterdir()) == sorted(["hemra-new", own.folders[0].name])
    assert [p.name for p in parent.iterdir()] == ["hemra-new"]
