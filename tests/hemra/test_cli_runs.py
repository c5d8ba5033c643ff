"""`hemra runs`, `replay` and `log repair` on runs that are not cached, or of which something is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from hemra.cli import runs
from tests.hemra.command_line import Run
from tests.projections.synthetic_runs import SyntheticRun

RUN = "20261130-194512-aa0001"


@pytest.fixture
def store(store: Store) -> Store:
    """A store with one finished run that commands use."""
    run = SyntheticRun(store, RUN).begin()
    for trial in run.trials.values():
        run.trial(trial, 1.0)
        run.commit()
    run.end()
    return store


def destroy(store: Store, run: str = RUN) -> None:
    """Overwrite all that a run's segments hold."""
    for segment in list_segments(store.stream_path(run)):
        segment.path.chmod(0o644)
        segment.path.write_bytes(os.urandom(100))


def test_replay_says_that_there_was_nothing_to_compare(hemra: Run) -> None:
    """`hemra replay` would prove a report by a copy that it had just made."""
    code, out, err = hemra("replay", RUN)
    assert (code, "identical" in err) == (0, False)
    assert "nothing was cached before: built from" in err
    assert "sha256:" in err
    assert "strict" in out.lower()
    _, _, err = hemra("replay", RUN)
    assert "identical to before" in err
    hemra("show", RUN)
    document = json.loads(hemra("replay", RUN, "--json")[1])
    assert document["identical"] is True


def test_json_of_a_replay_without_a_before(hemra: Run) -> None:
    """A program would take it for proved."""
    code, out, _ = hemra("replay", RUN, "--json")
    document = json.loads(out)
    assert (code, document["identical"], document["before"]) == (0, None, {})
    assert len(document["after"]) > 2


@pytest.mark.parametrize("command", ["report", "compare", "show", "replay"])
def test_a_destroyed_run_has_no_figures(store: Store, hemra: Run, command: str) -> None:
    """A run of which nothing is left on disk would be shown as finished, from what is cached."""
    assert hemra("report", RUN)[0] == 0
    destroy(store)
    code, out, err = hemra(command, RUN)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert "hemra log " in err


def test_a_destroyed_run_is_listed_as_one(store: Store, hemra: Run) -> None:
    """The list would say that such a run is finished and passed."""
    assert "4/4" in hemra("runs")[1]
    destroy(store)
    code, out, err = hemra("runs")
    assert (code, "unreadable" in out, "4/4" in out, "synthetic" in out) == (0, True, False, True)
    assert "1 run cannot be read; `hemra log verify` says why" in err


def test_a_list_that_takes_long_says_what_it_does(
    store: Store, hemra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first list after an upgrade would stand still without a word."""
    monkeypatch.setattr(runs, "PATIENCE_S", 0.0)
    line = "reading 1 run that is not cached as it stands …"
    assert line in hemra("runs")[2]
    assert line not in hemra("runs")[2], "it is cached now"
    store.cache.rename(store.path / "gone")
    assert line not in hemra("runs", "-q")[2]


def test_a_list_that_is_quick_says_nothing(hemra: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first list would come with a line that nobody needs."""
    monkeypatch.setattr(runs, "PATIENCE_S", 1000.0)
    assert hemra("runs")[2] == ""


def cut_off_the_beginning(store: Store) -> str:
    """A run whose first segment, which holds its plan, is lost; its id."""
    run = SyntheticRun(store, "20261130-194512-bb0001").begin()
    run.leave()
    (first,) = list_segments(store.stream_path(run.run))
    run.writer = StreamWriter.open(store, run.run)
    run.trial("0001", 1.0)
    run.leave()
    first.path.unlink()
    return run.run


def test_repair_recommends_what_works(store: Store, hemra: Run, tmp_path: Path) -> None:
    """A repair would send people to a report that cannot be made of the copy."""
    run = cut_off_the_beginning(store)
    copies = tmp_path / "copies"
    code, out, err = hemra("log", "repair", run, "-o", str(copies))
    assert code == 0
    assert "its plan is lost" in out + err
    assert "hemra report" not in out + err
    command = f"hemra log cat {run} --store {copies}"
    assert command in err
    code, out, _ = hemra(*command.split()[1:])
    assert (code, "trial.finished" in out) == (0, True)
    assert hemra("report", run, "--store", str(copies))[0] != 0


def test_a_dry_repair_says_that_the_plan_is_lost(store: Store, hemra: Run) -> None:
    """Nobody would know before copying that no report can be made."""
    run = cut_off_the_beginning(store)
    code, out, err = hemra("log", "repair", run, "-n")
    assert (code, "its plan is lost" in out + err) == (1, True)


def test_repair_of_a_run_with_its_plan_recommends_the_report(
    store: Store, hemra: Run, tmp_path: Path
) -> None:
    """Where the plan is there, its figures would be left lying."""
    run = SyntheticRun(store, "20261130-194512-cc0001").begin()
    run.leave()
    run.writer = StreamWriter.open(store, run.run)
    run.trial("0001", 1.0)
    run.leave()
    *_, last = list_segments(store.stream_path(run.run))
    last.path.chmod(0o644)
    last.path.write_bytes(os.urandom(last.size))
    copies = tmp_path / "copies"
    code, out, err = hemra("log", "repair", run.run, "-o", str(copies))
    assert (code, "plan" in out + err) == (0, False)
    assert f"hemra report {run.run} --store {copies}" in err
    assert hemra("report", run.run, "--store", str(copies))[0] == 0
