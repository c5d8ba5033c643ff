"""What is cached belongs to the files it was made of: changed ones are read again, and damage is not hidden."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from eventlog.errors import DamageError
from eventlog.segments import list_segments
from eventlog.store import Store
from projections import cache, query
from projections.compare import compare
from projections.errors import NotTrusted
from tests.projections.synthetic_runs import SyntheticRun, new_store


def finished(store: Store, run: str = "20261130-194512-aa0001", **options: Any) -> str:
    """A small finished run of two harnesses."""
    made = SyntheticRun(store, run, **options).begin()
    for trial in made.trials.values():
        made.trial(trial, 1.0)
    return made.end()


def count_builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were projected from here on, one entry each time."""
    built: list[str] = []
    build = cache.build

    def counting(store: Store, at: Any) -> cache.Built:
        built.append(at.stream)
        return build(store, at)

    monkeypatch.setattr(cache, "build", counting)
    return built


@pytest.mark.parametrize("length", [100, None])
def test_figures_of_a_destroyed_run_are_not_shown(tmp_path: Path, length: int | None) -> None:
    """A run whose segment was overwritten would be reported as sound, out of the cache, for ever."""
    store = new_store(tmp_path)
    run = finished(store)
    query.report(store, run)
    (segment,) = list_segments(store.stream_path(run))
    segment.path.chmod(0o644)
    segment.path.write_bytes(os.urandom(length or segment.size))
    for reading in (query.report, query.trials, query.show, compare, cache.replay):
        with pytest.raises((DamageError, NotTrusted)):
            reading(store, run)  # type: ignore[operator]
    (row,) = query.list_runs(store)
    assert (row["status"], row["scored"], row["passed"]) == ("unreadable", None, None)
    assert row["name"] == "synthetic"
    assert query.resolve_run(store, "synthetic") == run, "what was cached still tells its name"


def test_a_segment_that_is_gone_is_noticed(tmp_path: Path) -> None:
    """A run without its events would be reported as if they were there."""
    store = new_store(tmp_path)
    run = finished(store)
    query.report(store, run)
    (segment,) = list_segments(store.stream_path(run))
    segment.path.unlink()
    with pytest.raises((DamageError, NotTrusted)):
        query.report(store, run)


def test_touched_files_are_read_again_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was copied or restored would be projected anew at every look, or would be refused."""
    store = new_store(tmp_path)
    run = finished(store)
    expected = query.report(store, run)
    built = count_builds(monkeypatch)
    (segment,) = list_segments(store.stream_path(run))
    os.utime(segment.path, ns=(1, 1))
    assert query.report(store, run) == query.report(store, run) == expected
    assert built == [run]
    shutil.copytree(store.path, tmp_path / "elsewhere", copy_function=shutil.copyfile)
    other = Store.open(tmp_path / "elsewhere")
    assert query.report(other, run) == query.report(other, run) == expected
    assert built == [run, run]


def test_replay_of_what_was_not_cached_compares_nothing(tmp_path: Path) -> None:
    """`hemra replay` would call a report identical to one that it had made itself a moment before."""
    store = new_store(tmp_path)
    run = finished(store)
    first = cache.replay(store, run)
    assert (first.identical, first.before) == (None, {})
    assert first.after == cache.load(store, run).digests
    again = cache.replay(store, run)
    assert (again.identical, again.before) == (True, first.after)
    cache.discard(store, run)
    assert cache.replay(store, run).identical is None


def test_replay_compares_with_what_was_cached_before_the_files_were_touched(tmp_path: Path) -> None:
    """After a restore, a replay would prove nothing although the cached report is there."""
    store = new_store(tmp_path)
    run = finished(store)
    query.report(store, run)
    (segment,) = list_segments(store.stream_path(run))
    os.utime(segment.path, ns=(1, 1))
    assert cache.replay(store, run).identical is True


def test_a_list_projects_the_runs_that_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hemra runs --limit 1` would read every run of the store."""
    store = new_store(tmp_path)
    runs = [finished(store, f"20261130-194512-aa000{i}") for i in range(4)]
    built = count_builds(monkeypatch)
    assert [row["run"] for row in query.list_runs(store, limit=1)] == runs[-1:]
    assert built == runs[-1:]
    assert [row["run"] for row in query.list_runs(store)] == runs[::-1]
    assert sorted(built) == runs


def test_a_list_says_how_many_runs_it_has_to_read(tmp_path: Path) -> None:
    """Nobody would know why the first list after an upgrade takes so long; or it would be said of every list."""
    store = new_store(tmp_path)
    for i in range(3):
        finished(store, f"20261130-194512-aa000{i}")
    told: list[int] = []
    query.report(store, "20261130-194512-aa0001")
    query.list_runs(store, on_missing=told.append)
    assert told == [2]
    query.list_runs(store, on_missing=told.append)
    assert told == [2]


@pytest.mark.parametrize("small", [0, cache.SMALL])
def test_a_list_is_the_same_however_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """Runs that are projected side by side would be mixed up, or one that is damaged would take the others along."""
    store = new_store(tmp_path)
    runs = [finished(store, f"20261130-194512-aa000{i}", attempts=i + 1) for i in range(4)]
    (segment,) = list_segments(store.stream_path(runs[2]))
    segment.path.unlink()
    monkeypatch.setattr(cache, "SMALL", small)
    rows = query.list_runs(store)
    assert [row["run"] for row in rows] == runs[::-1]
    assert [row["scored"] for row in rows] == [16, None, 8, 4]
    assert [row["error"] is not None for row in rows] == [False, True, False, False]
