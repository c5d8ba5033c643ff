"""The cache is disposable: rebuilt when it is stale, damaged or absent, and equal every time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eventlog.errors import DamageError
from eventlog.schemas import conversation as c
from eventlog.store import Store
from projections import cache, query, source, sql
from tests.projections.synthetic_runs import SyntheticRun, new_store


def finished_run(store: Store) -> str:
    """A small finished run."""
    run = SyntheticRun(store, attempts=2).begin()
    for i, trial in enumerate(run.trials.values()):
        run.trial(trial, float(i % 3 == 0), seconds=1.0 + i)
    return run.end()


def folder_of(store: Store, run: str) -> Path:
    """The one folder that holds a run's cached projections."""
    (folder,) = (store.cache / "runs" / run).iterdir()
    return folder


def test_second_look_reads_no_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every report would be built from scratch."""
    store = new_store(tmp_path)
    run = finished_run(store)
    first = query.report(store, run)
    monkeypatch.setattr(cache, "build", lambda *_: pytest.fail("the events were read again"))
    assert query.report(store, run) == first
    assert len(query.trials(store, run)) == 8


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (cache.REPORT, "changed"),
        (cache.TRIALS, "cut"),
        (cache.TRIALS_CSV, "gone"),
        ("manifest.json", "changed"),
        ("manifest.json", "gone"),
        ("manifest.json", "no json"),
    ],
)
def test_damaged_cache_is_rebuilt(tmp_path: Path, name: str, damage: str) -> None:
    """A report that somebody edited, or that a full disk cut, would be believed."""
    store = new_store(tmp_path)
    run = finished_run(store)
    report, digests = query.report(store, run), cache.load(store, run).digests
    file = folder_of(store, run) / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        changed = {"changed": content.replace(b"1", b"2"), "cut": content[:-5], "no json": b"\xff"}[damage]
        file.write_bytes(changed)
    assert query.report(store, run) == report
    assert cache.load(store, run).digests == digests
    assert file.read_bytes() == content


def test_edited_cache_with_a_matching_manifest_is_found_by_replay(tmp_path: Path) -> None:
    """`hemra replay` would call a forged report identical."""
    store = new_store(tmp_path)
    run = finished_run(store)
    query.report(store, run)
    folder = folder_of(store, run)
    forged = (folder / cache.REPORT).read_bytes().replace(b'"passed":3', b'"passed":8')
    built = cache.Built(
        {n: (folder / n).read_bytes() for n in (cache.TRIALS, cache.TRIALS_CSV, cache.CONDITIONS)}
        | {cache.REPORT: forged}
    )
    for name, content in built.files.items():
        (folder / name).write_bytes(content)
    (folder / "manifest.json").write_text(json.dumps({"schema": cache.SCHEMA, "files": built.digests}))
    result = cache.replay(store, run)
    assert not result.identical
    assert result.before[cache.REPORT] != result.after[cache.REPORT]
    assert result.before[cache.TRIALS] == result.after[cache.TRIALS]
    assert result.report["passed"] == 3
    assert cache.replay(store, run).identical


def test_replay_rebuilds_the_same_bytes(tmp_path: Path) -> None:
    """The report would depend on something else than the events."""
    store = new_store(tmp_path)
    run = finished_run(store)
    without_cache = cache.replay(store, run)
    assert without_cache.identical is None
    (folder_of(store, run) / "left over").touch()
    again = cache.replay(store, run)
    assert again.identical
    assert again.before == again.after == without_cache.after
    assert not (folder_of(store, run) / "left over").exists(), "the cached files were not thrown away"
    assert again.events == source.snapshot(store, run).last
    assert again.report == query.report(store, run)


def test_replay_of_a_live_run(tmp_path: Path) -> None:
    """A run that is being written could not be replayed, or would differ from itself."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    run.trial("0001", 1.0)
    run.commit()
    query.report(store, run.run)
    result = cache.replay(store, run.run)
    assert result.identical
    assert result.report["status"] == "running"
    run.leave()


def test_new_events_make_a_new_report(tmp_path: Path) -> None:
    """A cached report would hide what has happened since; and old ones would pile up."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    scored = []
    for trial in run.trials.values():
        run.trial(trial, 1.0)
        run.commit()
        scored.append(query.report(store, run.run)["scored"])
    assert scored == [1, 2, 3, 4]
    run.end()
    assert query.report(store, run.run)["status"] == "finished"
    folder_of(store, run.run)


def test_new_code_makes_a_new_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade the figures of the old code would be shown."""
    store = new_store(tmp_path)
    run = finished_run(store)
    query.report(store, run)
    before = folder_of(store, run)
    monkeypatch.setattr(sql, "code_digest", lambda: "another")
    query.report(store, run)
    assert folder_of(store, run) != before


def test_same_events_in_another_store(tmp_path: Path) -> None:
    """A run carried to another machine would be reported otherwise there."""
    import shutil

    store = new_store(tmp_path)
    run = finished_run(store)
    shutil.copytree(store.path, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("cache"))
    other = Store.open(tmp_path / "elsewhere")
    assert cache.load(other, run).files == cache.load(store, run).files


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only store or a full disk would make reports impossible."""
    store = new_store(tmp_path)
    run = finished_run(store)
    expected = query.report(store, run)
    cache.discard(store, run)
    store.cache = tmp_path / "file"
    store.cache.write_text("not a directory")
    assert query.report(store, run) == expected
    assert cache.replay(store, run).report == expected


def test_interrupted_write_leaves_no_half_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process killed while it wrote the cache would leave a folder that looks whole."""
    store = new_store(tmp_path)
    run = finished_run(store)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    report = query.report(store, run)
    monkeypatch.undo()
    assert list((store.cache / "runs" / run).iterdir()) == []
    assert query.report(store, run) == report


def test_bytes_are_canonical(tmp_path: Path) -> None:
    """The trial table's bytes would hold what other readers refuse, or lose a column."""
    store = new_store(tmp_path)
    run = SyntheticRun(store, tasks=('a,"b"\nc', "ü")).begin()
    run.start("0001")
    run.event(c.NoteRecorded(level="warning", code="x", text="broken \ud800"))
    run.finish("0001", "infra_error", reason='line one\nline two, with "quotes"')
    built = cache.load(store, run.end())
    lines = built.files[cache.TRIALS].decode().splitlines()
    assert [json.loads(line)["position"] for line in lines] == [1, 2, 3, 4]
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(built.files[cache.TRIALS_CSV].decode())))
    assert rows[0]["task"] == 'a,"b"\nc'
    assert rows[0]["reason"] == 'line one\nline two, with "quotes"'
    assert rows[0]["cost_usd"] == ""
    assert (rows[0]["scored"], rows[0]["phases"]) == ("false", '{"run":1500000000}')
    assert set(rows[0]) == set(json.loads(lines[0]))


def test_a_replay_that_fails_leaves_what_was_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proving the report of a run whose log is damaged would destroy the last copy of it."""
    store = new_store(tmp_path)
    run = finished_run(store)
    kept = query.report(store, run)

    def broken(*_: object) -> None:
        raise DamageError(store.path, 0, "rotten")

    monkeypatch.setattr(cache, "build", broken)
    with pytest.raises(DamageError):
        cache.replay(store, run)
    assert query.report(store, run) == kept
