"""Reports on a repaired copy say that it is one, and what is missing from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventlog.repair import repair
from eventlog.schemas import conversation as c
from eventlog.segments import list_segments
from eventlog.store import Store
from hemra.reports.render import render_compare, render_report
from projections import compare, query
from tests.projections.synthetic_runs import SyntheticRun, new_store


@pytest.fixture
def original(tmp_path: Path) -> tuple[Store, str]:
    """A run in which every trial is a commit of its own, unsealed."""
    store = new_store(tmp_path)
    run = SyntheticRun(store).begin()
    for trial in run.trials.values():
        run.commit()
        run.start(trial)
        run.event(c.MessageRecorded(role="user", text="x" * 70_000), trial)
        run.score(trial, "PASS", 1.0)
        run.finish(trial, reward=1.0)
    return store, run.end(seal=False)


def ruined(store: Store, run: str) -> None:
    """Two bytes in the last third of the log, and one payload."""
    path = list_segments(store.stream_path(run))[0].path
    raw = bytearray(path.read_bytes())
    raw[len(raw) * 2 // 3] ^= 255
    raw[len(raw) * 2 // 3 + 1] ^= 255
    path.write_bytes(raw)


def test_a_report_on_a_repaired_copy_says_so(original: tuple[Store, str], tmp_path: Path) -> None:
    """Figures over what is left of a run would be taken for figures over all of it."""
    store, run = original
    assert query.report(store, run)["repaired"] is None
    assert not any("repaired" in w for w in query.report(store, run)["warnings"])
    ruined(store, run)
    made = repair(store, run, tmp_path / "copy")
    copy = Store.open(tmp_path / "copy")
    assert made.lost
    report = query.report(copy, run)
    assert report["repaired"]["lost_events"] == made.lost
    assert [(r["first"], r["last"]) for r in report["repaired"]["ranges"]] == [
        (r.first, r.last) for r in made.ranges
    ]
    first, last = made.ranges[0].first, made.ranges[0].last
    assert report["warnings"][0] == (
        f"This is a repaired copy: {made.lost} events are missing ({first} to {last})."
    )
    assert report["planned"] == 4
    assert report["passed"] < 4
    for shape in ("text", "md", "json"):
        assert "This is a repaired copy" in " ".join(render_report(report, shape).split())
    assert query.show(copy, run)["repaired"] == report["repaired"]
    comparison = compare.compare(copy, f"{run}:alpha", f"{run}:beta")
    assert comparison["warnings"][0].startswith(f"A and B ({run}): This is a repaired copy")
    assert "This is a repaired copy" in " ".join(render_compare(comparison, "text").split())


def test_lost_payloads_and_a_doubtful_end_are_told(original: tuple[Store, str], tmp_path: Path) -> None:
    """A copy that lacks payloads, or perhaps its end, would pass for whole."""
    store, run = original
    (blob,) = [p for p in store.blobs.root.rglob("*") if p.is_file()]
    blob.unlink()
    (store.stream_path(run) / "anchor").unlink()
    made = repair(store, run, tmp_path / "copy")
    report = query.report(Store.open(tmp_path / "copy"), run)
    assert report["repaired"]["lost_blobs"] == [b.digest for b in made.lost_blobs]
    assert "1 payload is missing; its end is in doubt (" in report["warnings"][0]


def test_more_gaps_than_fit_into_an_event(original: tuple[Store, str], tmp_path: Path) -> None:
    """Where the list of what is missing is moved to a blob, the report would break or say nothing."""
    store, run = original
    ruined(store, run)
    repair(store, run, tmp_path / "copy")
    copy = Store.open(tmp_path / "copy")
    report = query.report(copy, run)
    many = [{"first": n, "last": n, "cause": "x" * 200, "file": None, "offset": None} for n in range(2000)]
    from eventlog.schemas.repairs import LostRange, StreamRepaired
    from eventlog.stream import StreamWriter

    ranges = [LostRange(**entry) for entry in many]
    with StreamWriter.open(copy, run) as writer:
        writer.append(
            StreamRepaired(
                original="0" * 16, store="s", last=1, kept=1, lost=0, ranges=ranges, lost_blobs=[], end=None
            )
        )
    again = query.report(copy, run)
    assert len(again["repaired"]["ranges"]) == len(report["repaired"]["ranges"]) + 2000
    assert "…" in again["warnings"][0]
    assert json.dumps(again)
