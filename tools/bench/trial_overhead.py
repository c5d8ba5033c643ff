"""What hemra adds to a program that does nothing, and how soon `hemra --help` answers.

    python tools/bench/trial_overhead.py [--trials N] [--rounds N] [--json]

A trial of the harness `nop` at a bundled task (fixture copied, values drawn, program run under recording,
files compared, verifier asked in a fresh process, all of it recorded) is set against starting and ending the
same program bare. Both are taken in turns, so that the machine's mood meets both alike. Medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from eventlog.reader import read  # noqa: E402 - the checkout beside this file is measured
from eventlog.store import Store  # noqa: E402
from hemra.engine.plan import make_plan  # noqa: E402
from hemra.engine.progress import Quiet  # noqa: E402
from hemra.engine.request import RunRequest  # noqa: E402
from hemra.engine.run import start  # noqa: E402

TRUE = shutil.which("true") or "/bin/true"
TASK = "t02_file_read/t01_read_head"
#: Milliseconds that a no-op trial may take beyond the bare program, on an idle machine.
OVERHEAD_MS = 150.0
#: How many times as long as an empty Python `hemra --help` may take.
HELP_RATIO = 6.0


@dataclass(frozen=True)
class Line:
    """One line of the table. `met` is null where there is no target. Times in milliseconds."""

    what: str
    ours_ms: float
    bare_ms: float
    target: str | None
    met: bool | None

    @property
    def ratio(self) -> float:
        """Ours over bare."""
        return self.ours_ms / self.bare_ms


def timed_ms(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    began = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - began) / 1e6


def bare() -> None:
    """The program of the harness `nop`, with nothing around it."""
    subprocess.run([TRUE], stdin=subprocess.DEVNULL, capture_output=True, check=True)


def run_trials(store: Store, trials: int) -> tuple[list[float], dict[str, list[float]]]:
    """Milliseconds of each no-op trial of one run, and of each of its phases."""
    request = RunRequest(dataset="hermes", harnesses=["nop"], tasks=[TASK], attempts=trials)
    result = start(store, make_plan(store, request), Quiet())
    assert result.outcomes == {"completed": trials}, result
    whole: list[float] = []
    phases: dict[str, list[float]] = {}
    for event in read(store, result.run, types=["trial.finished"]):
        whole.append(event.data["duration_ns"] / 1e6)
        for name, duration in event.data["phases"].items():
            phases.setdefault(name, []).append(duration / 1e6)
    return whole, phases


def trial_lines(trials: int, rounds: int) -> tuple[list[Line], dict[str, float]]:
    """The no-op trial against the bare program, alone and as a share of a run; medians of the phases."""
    folder = Path(tempfile.mkdtemp(prefix="trial-bench-"))
    bares: list[float] = []
    wholes: list[float] = []
    runs: list[float] = []
    phases: dict[str, list[float]] = {}
    try:
        for number in range(rounds):
            store = Store.open(folder / str(number), create=True)
            bares += [timed_ms(bare) for _ in range(trials)]
            began = time.perf_counter_ns()
            whole, by_phase = run_trials(store, trials)
            runs.append((time.perf_counter_ns() - began) / 1e6 / trials)
            wholes += whole
            for name, durations in by_phase.items():
                phases.setdefault(name, []).extend(durations)
    finally:
        shutil.rmtree(folder)
    plain, trial = statistics.median(bares), statistics.median(wholes)
    target = f"< {OVERHEAD_MS:g} ms more"
    lines = [
        Line("a no-op trial", trial, plain, target, trial - plain < OVERHEAD_MS),
        Line(f"a run of {trials}, per trial", statistics.median(runs), plain, None, None),
    ]
    return lines, {name: statistics.median(durations) for name, durations in phases.items()}


def help_line(rounds: int) -> Line:
    """`hemra --help` against a Python that does nothing."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def ended(*arguments: str) -> Callable[[], object]:
        argv = [sys.executable, *arguments]
        return lambda: subprocess.run(argv, capture_output=True, check=True, env=environment)

    ours, empty = ended("-m", "hemra.cli.main", "--help"), ended("-c", "pass")
    for work in (ours, empty):
        work()  # compiled files and the page cache are warm for both
    pairs = [(timed_ms(ours), timed_ms(empty)) for _ in range(rounds)]
    help_ms = statistics.median(pair[0] for pair in pairs)
    empty_ms = statistics.median(pair[1] for pair in pairs)
    return Line("hemra --help", help_ms, empty_ms, f"< {HELP_RATIO:g} x", help_ms / empty_ms < HELP_RATIO)


def table(lines: list[Line], phases: dict[str, float]) -> str:
    """For people, and for docs/benchmarks.md."""
    rows = [
        "| what | ours, ms | bare, ms | beyond, ms | ratio | target | met |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for line in lines:
        met = "—" if line.met is None else "yes" if line.met else "**no**"
        rows.append(
            f"| {line.what} | {line.ours_ms:.1f} | {line.bare_ms:.1f} | {line.ours_ms - line.bare_ms:.1f} "
            f"| {line.ratio:.1f} | {line.target or '—'} | {met} |"
        )
    shares = ", ".join(f"{name} {ms:.1f}" for name, ms in phases.items())
    return "\n".join([*rows, "", f"Phases of a no-op trial (median ms): {shares}"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=20, help="no-op trials of one round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of trials")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    lines, phases = trial_lines(options.trials, options.rounds)
    lines.append(help_line(options.rounds * 5))
    host: dict[str, Any] = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
    }
    if options.json:
        rows = [{**asdict(line), "ratio": line.ratio} for line in lines]
        document = {"schema": "hemra.bench.trial/1", "host": host, "lines": rows, "phases_ms": phases}
        print(json.dumps(document, indent=1))
    else:
        print(f"{host['system']}, {host['cpus']} CPUs, Python {host['python']}\n\n{table(lines, phases)}")


if __name__ == "__main__":
    main()
