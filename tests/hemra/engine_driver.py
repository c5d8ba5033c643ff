"""An engine in a process of its own, for tests that kill or interrupt it; and small datasets and harnesses.

    python -m tests.hemra.engine_driver start STORE DATASET JOBS ATTEMPTS HARNESS…
    python -m tests.hemra.engine_driver resume STORE RUN JOBS
    python -m tests.hemra.engine_driver retry-errors STORE RUN JOBS

Prints one JSON object a line: `planned`, `started`, `finished`, `note`, and last `result` or `error`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from eventlog.reader import read
from eventlog.store import Store
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import resume, start
from hemra.errors import HemraError

ROOT = Path(__file__).parents[2]

#: Passes when the harness left a file `done` in the workspace.
VERIFIER = """
def verify(workspace, trace):
    done = (workspace / "done").exists()
    return {"status": "PASS" if done else "FAIL", "reason": "done" if done else "not done"}
"""


def make_task(root: Path, task: str, **files: str) -> Path:
    """A task below `root`. `files` replaces or adds files: `prepare_py` is `prepare.py`, and so on."""
    folder = root / task
    folder.mkdir(parents=True)
    spec = {
        "id": task, "version": 1, "title": "A task", "difficulty": 1,
        "limits": {"wall_seconds": 30, "output_mb": 64},
    }  # fmt: skip
    content = {"task_yaml": yaml.safe_dump(spec), "instruction_md": "Make `done`.", "verifier_py": VERIFIER}
    for name, text in (content | files).items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def make_harness(folder: Path, name: str, script: str, **more: Any) -> str:
    """A harness file of kind `command` that runs `script` by sh; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"name": name, "kind": "command", "command": ["/bin/sh", "-c", script]} | more
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


class Lines(Quiet):
    """Prints what happens."""

    def __init__(self) -> None:
        self.run: str | None = None

    def run_planned(self, run: str, trials: int) -> None:
        """The run's id and how many trials are to be carried out."""
        self.run = run
        say(planned=run, trials=trials)

    def trial_started(self, trial: str, *, harness: str, task: str, attempt: int, try_no: int) -> None:
        """The trial."""
        say(started=trial, try_no=try_no)

    def trial_finished(self, info: dict[str, Any]) -> None:
        """The trial and its outcome."""
        say(finished=info["trial"], outcome=info["outcome"])

    def note(self, text: str) -> None:
        """The text."""
        say(note=text)


def say(**fields: Any) -> None:
    """One line."""
    print(json.dumps(fields), flush=True)


class Driver:
    """A driver process. `lines` are those read so far."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hemra.engine_driver", *arguments],
            stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | (env or {}), text=True,
        )  # fmt: skip

    def until(self, key: str, value: Any = None) -> Any:
        """Read on to the first line that has `key` (equal to `value`, if given) and give its value."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
            if key in self.lines[-1] and value in (None, self.lines[-1][key]):
                return self.lines[-1][key]
        raise AssertionError(f"the engine ended without {key}: {self.lines}")

    def wait(self) -> int:
        """Read to the end; the exit code (negative: killed by that signal)."""
        assert self.process.stdout is not None
        self.lines += [json.loads(line) for line in self.process.stdout]
        self.process.stdout.close()
        return self.process.wait(60)

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once `condition` holds; AssertionError if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.005)


def events(store: Store, run: str, *types: str) -> list[tuple[str | None, dict[str, Any]]]:
    """(trial, data) of the events of these types, in order."""
    return [(event.trial, event.data) for event in read(store, run, types=types)]


def final_states(store: Store, run: str) -> dict[str, dict[str, Any]]:
    """Data of the last `trial.finished` of every trial."""
    return {str(trial): data for trial, data in events(store, run, "trial.finished")}


def main(arguments: list[str]) -> int:
    """The driver process."""
    what, path, ref, jobs, *rest = arguments
    store = Store.open(path, create=True)
    progress = Lines()
    try:
        if what == "start":
            attempts, *harnesses = rest
            request = RunRequest(dataset=ref, harnesses=harnesses, jobs=int(jobs), attempts=int(attempts))
            result = start(store, make_plan(store, request), progress)
        else:
            result = resume(store, ref, progress, int(jobs), retry_errors=what == "retry-errors")
    except HemraError as error:
        say(error=str(error), code=error.exit_code)
        return error.exit_code
    say(result=result.outcomes, run=result.run, unscored=result.unscored, cancelled=result.cancelled)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
