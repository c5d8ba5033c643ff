"""`hemra resume --retry-errors`: trials that could not be measured are run again, and nothing that is recorded goes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.bundle import export, import_
from eventlog.reader import read_lines, stream_state
from eventlog.store import Store
from eventlog.verify import verify
from hemra.engine.host import describe_host, describe_program
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import RunResult, resume, start
from hemra.engine.state import load
from projections import query
from tests.hemra.engine_driver import ROOT, Driver, events, final_states, make_harness, make_task, wait_until

#: Its endpoint refuses it until the gate is open; then it is slow where it is told to be.
AGENT = """
import json, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
task = json.loads(sys.stdin.readline())["task"]
def say(**told): print(json.dumps(told), flush=True)
say(type="hello", protocol="hemra/1", name="p", version="1")
say(type="usage", input_tokens=100, output_tokens=10, cost_usd=0.5)
if task.startswith("bad") and not (here / "open").exists():
    say(type="error", kind="provider", text="HTTP 529")
    raise SystemExit
if (here / "slow").exists():
    (here / "sleeping").touch()
    time.sleep(60)
pathlib.Path("done").touch()
say(type="final", text="done")
"""


class Told(Quiet):
    """Keeps what a person would be told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.trials = 0

    def run_planned(self, run: str, trials: int) -> None:
        """How many trials are carried out."""
        self.trials = trials

    def note(self, text: str) -> None:
        """One line."""
        self.notes.append(text)


class Place:
    """A store and five tasks: the model behind two of them does not serve until `open` is there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store.open(root / "store", create=True)
        for task in ("bad 1", "bad 2", "good"):
            make_task(root / "set", task)
        make_task(root / "set", "odd", verifier_py="def verify(w, t): return {'status': 'SKIPPED'}")
        make_task(root / "set", "poor", verifier_py="def verify(w, t): return {'status': 'FAIL'}")
        command = ["{python}", "-c", AGENT, str(root)]
        self.agent = make_harness(root, "agent", "", kind="protocol", command=command)

    def start(self, **more: Any) -> RunResult:
        """A run of all."""
        request = RunRequest(dataset=str(self.root / "set"), harnesses=[self.agent], retries=0, **more)
        return start(self.store, make_plan(self.store, request), Quiet())

    def resume(self, run: str, *, retry_errors: bool = True) -> tuple[RunResult, Told]:
        """The run gone on with, and what was told."""
        told = Told()
        return resume(self.store, run, told, retry_errors=retry_errors), told

    def lines(self, run: str) -> list[bytes]:
        """The run's events as they are in the log."""
        return list(read_lines(self.store, run))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh place."""
    return Place(tmp_path)


def test_what_could_not_be_measured_is_run_again_and_nothing_else(place: Place, tmp_path: Path) -> None:
    """Three trials lost to a bad minute of a provider would cost the whole run a second time."""
    run = place.start().run
    before = place.lines(run)
    export(place.store, [run], tmp_path / "before.tar")
    (place.root / "open").touch()
    result, told = place.resume(run)
    assert told.notes == ["2 trials that could not be measured are run again: provider_error 0001, 0002"]
    assert (told.trials, result.outcomes, result.errors) == (2, {"completed": 5}, 0)
    assert place.lines(run)[: len(before)] == before
    started = [trial for trial, _ in events(place.store, run, "trial.started")]
    assert started == ["0001", "0002", "0003", "0004", "0005", "0001", "0002"]
    states = final_states(place.store, run)
    assert [states[t]["try_no"] for t in sorted(states)] == [2, 2, 1, 1, 1]
    [(_, resumed)] = events(place.store, run, "run.resumed")
    assert (resumed["retried"], resumed["finished"], resumed["remaining"]) == (["0001", "0002"], 3, 2)
    assert len(events(place.store, run, "run.finished")) == 2
    state = stream_state(place.store, run)
    assert (state.finished, state.sealed) == (True, state.segments)
    assert verify(place.store).ok
    elsewhere = Store.open(tmp_path / "elsewhere", create=True)
    import_(elsewhere, tmp_path / "before.tar")
    export(place.store, [run], tmp_path / "after.tar")
    import_(elsewhere, tmp_path / "after.tar")
    assert list(read_lines(elsewhere, run)) == place.lines(run)


def test_every_try_keeps_its_cost_and_the_newest_counts(place: Place) -> None:
    """What the failed calls cost would vanish from the record, or be counted as the second try's."""
    run = place.start().run
    (place.root / "open").touch()
    assert query.report(place.store, run)["harnesses"][0]["scored"] == 2
    place.resume(run)
    tries = [(t["try_no"], t["cost_usd"]) for t in query.table(place.store, run, "tries", trial="0001")]
    assert tries == [(1, 0.5), (2, 0.5)]
    report = query.report(place.store, run)
    assert (report["status"], report["harnesses"][0]["scored"]) == ("finished", 4)
    row = query.trials(place.store, run)[0]
    assert (row["result"], row["try_no"], row["tries"]) == ("passed", 2, 2)


def test_without_such_trials_nothing_is_written(place: Place) -> None:
    """A run without errors would be opened, and its end written down a second time."""
    (place.root / "open").touch()
    run = place.start().run
    before = place.lines(run)
    result, told = place.resume(run)
    assert told.notes == [f"run {run} has no trial that could not be measured; there is nothing to run again"]
    assert (result.exit_code, place.lines(run)) == (3, before)  # 3: a scorer that skipped its task


def test_a_scorer_that_failed_measured_nothing(place: Place) -> None:
    """A trial whose verifier broke would stay without a score for ever."""
    make_task(place.root / "set", "broken", verifier_py="def verify(w, t): raise OSError('no room')")
    (place.root / "open").touch()
    run = place.start().run
    _, told = place.resume(run)
    assert told.notes == ["1 trial that could not be measured is run again: completed (VERIFIER_ERROR) 0003"]


def test_a_plain_resume_leaves_them_and_says_how(place: Place) -> None:
    """A finished run would be run again unasked, or nobody would learn that it can be."""
    run = place.start().run
    before = place.lines(run)
    result, told = place.resume(run, retry_errors=False)
    assert told.notes == [f"run {run} is finished; there is nothing to resume"]
    assert (result.errors, result.exit_code, place.lines(run)) == (2, 3, before)


def test_trials_that_are_refused_again_have_their_retries_again(place: Place, monkeypatch: Any) -> None:
    """A trial that used up its repeats in the bad minute would get none in the next one."""
    from hemra.engine import schedule

    monkeypatch.setattr(schedule, "BACKOFF_SECONDS", {"provider_error": 0.01})
    request = RunRequest(dataset=str(place.root / "set"), harnesses=[place.agent], retries=1, tasks=["bad 1"])
    run = start(place.store, make_plan(place.store, request), Quiet()).run
    assert place.resume(run)[0].outcomes == {"provider_error": 1}
    assert [d["try_no"] for _, d in events(place.store, run, "trial.retried")] == [1, 3]
    assert final_states(place.store, run)["0001"]["try_no"] == 4


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_stopped_is_gone_on_with_by_a_plain_resume(place: Place, how: signal.Signals) -> None:
    """What was asked to be run again would be forgotten when the machine died before its turn came."""
    run = place.start().run
    for name in ("open", "slow"):
        (place.root / name).touch()
    with Driver("retry-errors", str(place.store.path), run, "1") as engine:
        engine.until("started", "0001")
        wait_until((place.root / "sleeping").exists)
        engine.process.send_signal(how)
        engine.process.wait()
    state = load(place.store, run)
    assert [trial.trial for trial in state.remaining()] == ["0001", "0002"]
    # The try that was not replaced yet still stands.
    assert state.outcomes()["provider_error"] == 1
    (place.root / "slow").unlink()
    result, _ = place.resume(run, retry_errors=False)
    assert (result.outcomes, result.cancelled) == ({"completed": 5}, False)


def test_a_session_says_where_it_was_and_with_which_program(place: Place) -> None:
    """A run that went on on another machine, or with another version, would look like one that did not."""
    run = place.start().run
    place.resume(run)
    told = [data for _, data in events(place.store, run, "run.started", "run.resumed")]
    assert [(one["host"], one["hemra"]) for one in told] == [(describe_host(), describe_program())] * 2


def command(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command on the place's store."""
    return subprocess.run(
        [sys.executable, "-m", "hemra.cli.main", *arguments, "--store", str(place.store.path)],
        capture_output=True, text=True, cwd=ROOT, timeout=120, check=False,
    )  # fmt: skip


def test_the_command_line_offers_it(place: Place) -> None:
    """Who reads of unscored trials after a run would not learn that they can be had for their own price."""
    run = place.start().run
    hint = f"`hemra resume {run} --retry-errors` runs again the 2 trials that could not be measured"
    plain = command(place, "resume", run)
    assert (plain.returncode, hint in plain.stderr) == (3, True), plain.stderr
    (place.root / "open").touch()
    again = command(place, "resume", run, "--retry-errors")
    assert (again.returncode, hint in again.stderr) == (3, False), again.stderr
    assert "2 trials that could not be measured are run again: provider_error 0001, 0002" in again.stderr
