"""Small task folders for tests, and running a task's reference solution as a harness would."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from harnesses.registry import load_harness
from hemra.datasets.model import Task
from hemra.datasets.prepare import Prepared
from tests.harnesses.trial_inputs import trial_input

TASK_YAML = "id: {id}\nversion: 1\ntitle: A task\ndifficulty: 1\n"
PASSING = "def verify(workspace, trace):\n    return {'status': 'PASS', 'reason': 'fine'}\n"
FAILING = "def verify(workspace, trace):\n    return {'status': 'FAIL', 'reason': 'nothing done'}\n"


def make_task(root: Path, task_id: str = "demo/one", **files: str) -> Path:
    """A valid task folder at `root/task_id`; `files` (path, `yaml`, `verifier`, …) replace or add texts."""
    folder = root / task_id
    content = {
        "task.yaml": TASK_YAML.format(id=json.dumps(task_id, ensure_ascii=False)),
        "instruction.md": "Do it.\n",
        "verifier.py": FAILING,
        "solution/solve.py": "print('done')\n",
        "checks/wrong_nothing.py": "print('done')\n",
    }
    names = {
        "yaml": "task.yaml",
        "verifier": "verifier.py",
        "prepare": "prepare.py",
        "instruction": "instruction.md",
    }
    content |= {names.get(key, key): textwrap.dedent(text) for key, text in files.items()}
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def blank_trace(prepared: Prepared, workspace: Path, home: Path) -> dict[str, Any]:
    """The trace of a harness that recorded its tools and did nothing."""
    return {
        "task": "demo/one",
        "instruction": prepared.instruction,
        "values": prepared.values,
        "seed": 0,
        "messages": [],
        "final": None,
        "tools_recorded": True,
        "tool_calls": [],
        "exit_code": 0,
        "outcome": "completed",
        "home": str(home),
        "workspace": str(workspace),
    }


def solve(task: Task, prepared: Prepared, workspace: Path, home: Path) -> dict[str, Any]:
    """Run the reference solution as the oracle does and make the trace from the protocol lines it prints."""
    harness_dir = home.with_name("harness")
    launch = load_harness("oracle").launch(
        trial_input(
            task=task.id,
            instruction=prepared.instruction,
            workspace=str(workspace),
            home=str(home),
            harness_dir=str(harness_dir),
            solution_dir=str(task.path / "solution"),
        )
    )
    harness_dir.mkdir()
    for name, content in launch.files.items():
        (harness_dir / name).write_bytes(content)
    done = subprocess.run(
        launch.argv,
        input=launch.stdin,
        capture_output=True,
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **launch.env},
        timeout=60,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "hello"
    assert lines[0]["protocol"] == "hemra/1"
    trace = blank_trace(prepared, workspace, home)
    calls: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["type"] == "tool_call":
            calls[line["call"]] = {**line, "ok": None, "result": None}
            trace["tool_calls"].append(calls[line["call"]])
        elif line["type"] == "tool_result":
            calls[line["call"]].update(ok=line["ok"], result=line["result"])
        elif line["type"] == "final":
            trace["final"] = line["text"]
    return trace
