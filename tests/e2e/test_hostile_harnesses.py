"""Programs that misbehave, run by the installed command: right outcome, whole output, nothing left, memory flat."""

from __future__ import annotations

import hashlib
import json
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from tests.e2e.conftest import Command

pytestmark = pytest.mark.e2e
HERE = Path(__file__).parent
BIG = 300 * 1024 * 1024


@pytest.fixture
def python_harness(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a harness file of kind `command` that runs a Python program."""

    def write(name: str, program: str) -> Path:
        script = tmp_path / f"{name}.py"
        script.write_text(textwrap.dedent(program), "utf-8")
        path = tmp_path / f"{name}.yaml"
        content = {
            "name": name,
            "kind": "command",
            "command": [sys.executable, str(script)],
            "prompt": "stdin",
        }
        path.write_text(json.dumps(content), "utf-8")
        return path

    return write


def events_of(hemra: Command, run: str) -> list[dict[str, Any]]:
    """All events of a run."""
    return [orjson.loads(line) for line in hemra("log", "cat", run).stdout.splitlines()]


def last(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """`data` of the last event of a type."""
    data: dict[str, Any] = [e["data"] for e in events if e["type"] == kind][-1]
    return data


def artifact(hemra: Command, events: list[dict[str, Any]], name: str) -> Path:
    """The blob file of a stored artifact."""
    (blob,) = [
        e["data"]["blob"] for e in events if e["type"] == "artifact.stored" and e["data"]["name"] == name
    ]
    digest = blob.removeprefix("sha256:")
    return hemra.store / "blobs" / "sha256" / digest[:2] / digest[2:]


def alive(run: str) -> list[str]:
    """What a trial of this run started and that still lives."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            if any(run in value for key, value in environment.items() if key.startswith("HEMRA_TRIAL")):
                found.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


PROGRAMS = {
    "does nothing": ("pass", "completed", [], b""),
    "leaves a daemon that holds stdout": (
        """
        import subprocess
        print("before", flush=True)
        subprocess.Popen(["sleep", "1000"])
        print("after", flush=True)
        """,
        "completed", ["leftover_processes"], b"before\nafter\n",
    ),
    "forks a setsid child": (
        """
        import subprocess
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        subprocess.Popen(["setsid", "-f", "sleep", "1000"]).wait()
        print("done")
        """,
        "completed", ["leftover_processes"], b"done\n",
    ),
    "splits a character over two writes": (
        """
        import os, time
        raw = "caf\\u00e9 \\u2615 \\U0001F600".encode()
        for i in range(len(raw)):
            os.write(1, raw[i:i+1]); time.sleep(0.005)
        """,
        "completed", [], "café ☕ 😀".encode(),
    ),
    "fills stderr": (
        """
        import sys
        sys.stderr.write("e" * 20_000_000)
        print("end")
        """,
        "completed", [], b"end\n",
    ),
    "exits by a signal": ("import os; print('x', flush=True); os.kill(os.getpid(), 11)", "harness_error", [], b"x\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_misbehaviour_has_its_outcome(
    hemra: Command, python_harness: Callable[[str, str], Path], name: str
) -> None:
    """If this failed, a misbehaving harness would hang the run, lose output, or leave processes behind."""
    program, outcome, flags, stdout = PROGRAMS[name]
    harness = python_harness("odd", program)
    run = hemra.run("--dataset", "hermes", "--task", "t01*/t01*", "--harness", harness)
    events = events_of(hemra, run)
    finished = last(events, "trial.finished")
    assert finished["outcome"] == outcome
    assert set(flags) <= set(finished["flags"])
    assert finished["score_status"] == "FAIL"
    assert finished["reward"] == 0
    if stdout:
        assert artifact(hemra, events, "stdout").read_bytes() == stdout
    assert last(events, "harness.exited")["stdout_bytes"] == len(stdout)
    assert alive(run) == []
    if name == "fills stderr":
        assert artifact(hemra, events, "stderr").stat().st_size == 20_000_000


def test_ignores_sigterm_and_has_a_time_limit(
    hemra: Command, python_harness: Callable[[str, str], Path]
) -> None:
    """If this failed, a program that ignores SIGTERM would outlive its time limit."""
    harness = python_harness(
        "deaf",
        """
        import signal, subprocess, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000 & wait"], start_new_session=True)
        print("started", flush=True)
        time.sleep(1000)
        """,
    )
    run = hemra.run("--dataset", "hermes", "--task", "t01*/t01*", "--harness", harness, "--timeout", "2s")
    finished = last(events_of(hemra, run), "trial.finished")
    assert finished["outcome"] == "timeout"
    limit = finished["limit"]
    assert (limit["name"], limit["value"], limit["unit"]) == ("wall_seconds", 2, "seconds")
    assert 2 <= limit["measured"] < 10
    assert alive(run) == []


def test_300_mb_on_one_line(hemra: Command, python_harness: Callable[[str, str], Path]) -> None:
    """If this failed, a flood on one line would be cut, or would take hemra's memory with it."""
    harness = python_harness(
        "flood",
        f"""
        import os
        piece = b"a" * (1 << 20)
        for _ in range({BIG >> 20}):
            view = memoryview(piece)
            while view:
                view = view[os.write(1, view):]
        """,
    )
    process = hemra.start("run", "--dataset", "hermes", "--task", "t01*/t01*", "--harness", harness)
    peak = 0

    def watch() -> None:
        nonlocal peak
        try:
            watched = psutil.Process(process.pid)
            while process.poll() is None:
                peak = max(peak, watched.memory_info().rss)
                threading.Event().wait(0.02)
        except psutil.NoSuchProcess:
            return

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, err = process.communicate(timeout=180)
    watcher.join()
    assert process.returncode == 0, err
    events = events_of(hemra, out.splitlines()[-1])
    assert last(events, "trial.finished")["outcome"] == "completed"
    stored = artifact(hemra, events, "stdout")
    digest = hashlib.sha256(b"a" * BIG).hexdigest()
    assert stored.stat().st_size == BIG
    assert hashlib.sha256(stored.read_bytes()).hexdigest() == digest
    assert peak < 250 * 1024 * 1024, f"{peak / 1e6:.0f} MB"
    assert hemra("log", "verify").returncode == 0


def test_output_limit(hemra: Command, python_harness: Callable[[str, str], Path]) -> None:
    """If this failed, a harness could fill the disk, or the limit would be reported as something else."""
    harness = python_harness("flood", "import sys\nwhile True: sys.stdout.write('y' * 65536)")
    run = hemra.run(
        "--dataset", "hermes", "--task", "t01*/t01*", "--harness", harness, "--output-limit", "5MB"
    )  # fmt: skip
    finished = last(events_of(hemra, run), "trial.finished")
    assert finished["outcome"] == "output_limit"
    assert finished["limit"]["name"] == "output_bytes"
    assert finished["limit"]["measured"] >= finished["limit"]["value"] > 0


def test_a_saboteur_passes_nothing(hemra: Command) -> None:
    """If this failed, an agent whose every tool call fails could pass a task by sounding right."""
    run = hemra.run("--dataset", "hermes", "--harness", HERE / "saboteur", "--harness", "oracle", "-j", "2")
    report = hemra.json("report", run)
    rows = {row["name"]: row for row in report["harnesses"]}
    tasks = len(hemra.json("task", "list")["tasks"])
    assert tasks >= 61
    assert (rows["saboteur"]["scored"], rows["saboteur"]["passed"]) == (tasks, 0)
    assert (rows["oracle"]["scored"], rows["oracle"]["passed"]) == (tasks, tasks)
    calls = [e for e in events_of(hemra, run) if e["type"] == "tool.returned" and e["data"]["ok"] is False]
    assert len(calls) >= 33


def test_who_kills_the_launcher_has_failed(
    hemra: Command, python_harness: Callable[[str, str], Path]
) -> None:
    """A harness, or a model with a shell, could take a failure out of the scores and have it run again, by one signal;
    or leave processes behind."""
    harness = python_harness(
        "assassin",
        """
        import os, signal, time
        print("here", flush=True)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
        """,
    )
    arguments = ["--dataset", "hermes", "--task", "t01*/t01*", "--harness", str(harness), "--retries", "1"]
    run = hemra.run(*arguments)
    events = events_of(hemra, run)
    finished = last(events, "trial.finished")
    assert (finished["outcome"], finished["scored"], finished["reward"]) == ("harness_error", True, 0.0)
    assert "the process that watched it" in finished["reason"]
    assert [each["type"] for each in events if each["type"] in ("sandbox.lost", "trial.retried")] == []
    assert alive(run) == []
