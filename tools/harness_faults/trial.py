"""One agent, one fault: a run of one trial against the scripted model server, and what is known of it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from eventlog.reader import read
from eventlog.store import Store
from tools.harness_faults.search import holding
from tools.model_server.journal import totals
from tools.model_server.script import fault, load
from tools.model_server.server import running

#: The key that the server wants to see; it must be nowhere but in the gateway.
KEY = "sk-dummy-5f0c1b7a9e3d4c2b8a6f7e5d4c3b2a19"
KEY_VARIABLE = "HEMRA_FAULTS_KEY"
TASK = {
    "id": "hello", "version": 1, "title": "Make a file", "difficulty": 1, "allowed_tools": ["terminal"],
    "limits": {"wall_seconds": 60, "output_mb": 64},
}  # fmt: skip
INSTRUCTION = "Create a file named hello.txt that contains the word hello.\n"
VERIFIER = '''
def verify(workspace, trace):
    """Whether the file is there."""
    path = workspace / "hello.txt"
    made = path.is_file() and path.read_text(encoding="utf-8").strip() == "hello"
    return {"status": "PASS" if made else "FAIL", "reason": "hello.txt is there" if made else "no hello.txt"}
'''


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it. `seconds` are the trial's own. `served` and `recorded` count model calls by how they ended;
    `usage` are (served, recorded) sums of tokens in and out; `left` are processes that outlived the run, `found` files
    that hold the key."""

    outcome: str
    reason: str
    flags: list[str]
    score: str | None
    seconds: float
    served: dict[str, int]
    recorded: dict[str, int]
    usage: tuple[tuple[int, int], tuple[int | None, int | None]]
    left: list[str]
    found: list[str]


def dataset(folder: Path) -> Path:
    """The one task, as a folder of tasks."""
    task = folder / "tasks" / "hello"
    task.mkdir(parents=True)
    (task / "task.yaml").write_text(yaml.safe_dump(TASK), encoding="utf-8")
    (task / "instruction.md").write_text(INSTRUCTION, encoding="utf-8")
    (task / "verifier.py").write_text(VERIFIER, encoding="utf-8")
    return task.parent


def try_out(folder: Path, harness: dict[str, Any], what: str | None, sandbox: str, seconds: int) -> Outcome:
    """Run it. `harness` is a file with `dialect` and `script`; `what` is a fault as the server takes it, None for none;
    `folder` is empty and stays."""
    script = msgspec.structs.replace(load(harness.get("script", "hello")), accept_key=KEY)
    if what is not None:
        script = msgspec.structs.replace(script, faults=(fault(what),))
    with running(script) as server:
        file = folder / "harness.yaml"
        upstream = {
            "base_url": server.base + ("" if harness["dialect"] == "messages" else "/v1"),
            "dialect": harness["dialect"], "key": {"env": KEY_VARIABLE},
        }  # fmt: skip
        ours = ("dialect", "script")
        content = {name: value for name, value in harness.items() if name not in ours} | {
            "upstream": upstream
        }
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        run = _run(folder, file, sandbox, seconds)
        entries = server.journal.served()
    return _told(folder, run, entries)


def _run(folder: Path, file: Path, sandbox: str, seconds: int) -> str:
    """The id of the run."""
    command = [
        str(Path(sys.executable).with_name("hemra")), "run", "--store", str(folder / "store"), "--dataset",
        str(dataset(folder)), "--harness", str(file), "--sandbox", sandbox, "--timeout", f"{seconds}s",
        "--retries", "0",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=os.environ | {KEY_VARIABLE: KEY}, capture_output=True, text=True, check=False,
        timeout=seconds + 120,
    )  # fmt: skip
    if not done.stdout.strip():
        raise RuntimeError(f"hemra run did not run: {done.stderr.strip()[-2000:]}")
    return done.stdout.split()[-1]


def _told(folder: Path, run: str, entries: list[dict[str, Any]]) -> Outcome:
    store = Store.open(folder / "store")
    events = list(read(store, run))
    finished = next(event.data for event in events if event.type == "trial.finished")
    recorded: dict[str, int] = {}
    for event in events:
        if event.type == "model.responded":
            ended = str(event.data["ended"])
            recorded[ended] = recorded.get(ended, 0) + 1
    served: dict[str, int] = {}
    for entry in entries:
        if entry["kind"] in ("model", "auxiliary"):
            how = str(entry["status"]) if entry["status"] != 200 else str(entry["ended"])
            served[how] = served.get(how, 0) + 1
    told, usage = totals(entries)["told"], finished["usage"] or {}
    return Outcome(
        outcome=finished["outcome"], reason=finished["reason"] or "", flags=finished["flags"],
        score=finished["score_status"], seconds=finished["duration_ns"] / 1e9, served=served, recorded=recorded,
        usage=(
            (told.get("input_tokens", 0), told.get("output_tokens", 0)),
            (usage.get("input_tokens"), usage.get("output_tokens")),
        ),
        left=_left(run), found=_with_the_key(folder),
    )  # fmt: skip


def _left(run: str) -> list[str]:
    """Command lines of processes of the run's trials that are still there."""
    from hemra.sandboxes.leftovers import marked

    return [str(pid) for pid in marked(lambda token: token.startswith(f"{run}/"))]


def _with_the_key(folder: Path) -> list[str]:
    """Files below `folder` that hold the key, whatever they are packed with."""
    return [str(path.relative_to(folder)) for path in holding(folder, KEY)]
