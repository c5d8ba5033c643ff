"""kill -9 of engine, recorder or both at random instants: `hemra resume` finishes the run as if nothing had been."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from eventlog.lock import holder
from eventlog.store import Store
from eventlog.verify import verify

HEMRA = Path(sys.executable).with_name("hemra")
#: Instants at which something is killed, spread over several runs of 40 trials.
KILLS = int(os.environ.get("HEMRA_KILLS", "50"))
ARGUMENTS = ["run", "--dataset", "hermes", "--task", "t01*", "--harness", "oracle", "--harness", "nop",
             "--attempts", "4", "--jobs", "4"]  # fmt: skip

pytestmark = pytest.mark.e2e


class Victim:
    """A `hemra run` or `hemra resume` in flight, and what it has shown as finished."""

    def __init__(self, store: Path, arguments: list[str], stderr: Path) -> None:
        environment = {**os.environ, "HEMRA_STORE": str(store), "NO_COLOR": "1"}
        self.stderr = stderr
        with stderr.open("ab") as err, stderr.with_suffix(".out").open("wb") as out:
            self.process = subprocess.Popen([HEMRA, *arguments], env=environment, stdout=out, stderr=err)

    def kill_after(self, seconds: float, what: str, store: Path) -> bool:
        """Kill the engine, the recorder or both after `seconds`; False when the run had ended by then."""
        try:
            self.process.wait(timeout=seconds)
            return False
        except subprocess.TimeoutExpired:
            pass
        recorder = recorder_pid(store)
        if what in {"engine", "both"}:
            self.process.send_signal(signal.SIGKILL)
        if what in {"recorder", "both"} and recorder is not None:
            try:
                os.kill(recorder, signal.SIGKILL)
            except ProcessLookupError:
                return False
        if what != "recorder":
            self.process.wait()
        return True


def recorder_pid(store: Path) -> int | None:
    """Process id of the recorder of the newest run, from the lock that it holds."""
    runs = sorted(p for p in (store / "log").glob("2*") if p.is_dir())
    return holder(runs[-1] / "lock") if runs else None


def run_id(store: Path) -> str | None:
    """The store's one run; None while it has not been planned."""
    runs = (
        sorted(p.name for p in (store / "log").glob("2*") if p.is_dir()) if (store / "log").exists() else []
    )
    return runs[-1] if runs else None


def hemra(store: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command against the store to its end."""
    environment = {**os.environ, "HEMRA_STORE": str(store), "NO_COLOR": "1"}
    return subprocess.run([HEMRA, *arguments], env=environment, capture_output=True, check=False)


def events(store: Path, run: str) -> list[dict[str, Any]]:
    """All events of a run, through the command line."""
    done = hemra(store, "log", "cat", run)
    assert done.returncode == 0, done.stderr
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def final_states(recorded: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[str, float | None]]:
    """(harness, task, attempt) -> (outcome, reward) by the last end of each trial."""
    queued = {e["trial"]: e["data"] for e in recorded if e["type"] == "trial.queued"}
    ends = {e["trial"]: e["data"] for e in recorded if e["type"] == "trial.finished"}
    return {
        (q["harness"], q["task"], q["attempt"]): (ends[t]["outcome"], ends[t]["reward"])
        for t, q in queued.items()
        if t in ends
    }


def figures(store: Path, run: str) -> list[dict[str, Any]]:
    """What the report says of each harness, without what differs between any two runs (times, tries)."""
    report = orjson.loads(hemra(store, "report", run, "--format", "json").stdout)
    keep = ("name", "planned", "scored", "passed", "outcomes")
    return [{key: row[key] for key in keep} for row in report["harnesses"]]


def check(store: Path, run: str, shown: list[tuple[str, str]], expected: dict[Any, Any]) -> None:
    """All that must hold after the last resume."""
    recorded = events(store, run)
    assert [e["seq"] for e in recorded] == list(range(1, len(recorded) + 1))
    assert max(Counter(e["id"] for e in recorded).values()) == 1
    assert final_states(recorded) == expected
    ends = Counter(e["trial"] for e in recorded if e["type"] == "trial.finished")
    for trial, outcome in shown:
        assert ends[trial] == 1, f"trial {trial} was shown as finished and then run again"
        (end,) = [e["data"] for e in recorded if e["type"] == "trial.finished" and e["trial"] == trial]
        assert end["outcome"] == outcome
    report = verify(Store.open(store))
    assert report.ok, report.problems


def shown_as_finished(stderr: Path) -> list[tuple[str, str]]:
    """(trial, outcome) of every line that told a person that a trial is finished."""
    found = re.findall(
        r"^\[ *\d+/\d+\] +(\d{4,}) .*?\b(completed|timeout|harness_error)\b", stderr.read_text(), re.M
    )
    return sorted(set(found))


@pytest.mark.timeout(900)
def test_killed_at_random_instants(tmp_path: Path) -> None:
    """If this failed, a crash would lose a finished trial, run it twice, or change the report."""
    quiet = tmp_path / "quiet"
    began = time.monotonic()
    done = hemra(quiet, *ARGUMENTS)
    length = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    run = done.stdout.decode().split()[-1]
    expected, expected_figures = final_states(events(quiet, run)), figures(quiet, run)
    assert len(expected) == 40
    rng = random.Random(20261130)
    killed: Counter[str] = Counter()
    round_ = 0
    while sum(killed.values()) < KILLS:
        round_ += 1
        one_run(tmp_path / f"round {round_}", rng, length, killed, expected, expected_figures)
    print(f"\nkilled {dict(killed)} in {round_} runs of 40 trials")
    assert min(killed[w] for w in ("engine", "recorder", "both")) > 0


def one_run(
    store: Path, rng: random.Random, length: float, killed: Counter[str], expected: Any, expected_figures: Any
) -> None:
    """One run of 40 trials, killed again and again until it ends, then checked."""
    stderr = store.with_suffix(".err")
    arguments = ARGUMENTS
    for _ in range(100):
        victim = Victim(store, arguments, stderr)
        what = rng.choice(["engine", "recorder", "both"]) if sum(killed.values()) < KILLS else ""
        hit = bool(what) and victim.kill_after(rng.uniform(0.1, length * 0.7), what, store)
        if hit:
            killed[what] += 1
        if not hit or what == "recorder":
            code = victim.process.wait(timeout=120)
            assert code == 0, stderr.read_text()[-3000:]
            break
        run = run_id(store)
        # Killed before the plan was complete: nothing was promised yet, the user starts again.
        planned = run is not None and any(e["type"] == "run.planned" for e in events(store, run))
        arguments = ["resume", run] if run is not None and planned else ARGUMENTS
    run = run_id(store)
    assert run is not None
    check(store, run, shown_as_finished(stderr), expected)
    assert figures(store, run) == expected_figures
    assert not leftovers(store), "processes of dead trials are still there"


def leftovers(store: Path) -> list[str]:
    """Processes that a trial of this store's runs started and that still run."""
    run = run_id(store)
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        try:
            if run in " ".join(
                f"{k}={v}" for k, v in process.environ().items() if k.startswith("HEMRA_TRIAL")
            ):
                found.append(str(process.info))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
