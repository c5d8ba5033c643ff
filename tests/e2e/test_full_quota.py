"""A folder whose quota is full: really full where the sandbox can do that, said in the record where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Command
from tests.hemra.task_folders import make_task

#: Fills the folder until the disk says no.
WORLD = """
import errno, json, signal
blocks = 0
try:
    with open("spool/ballast", "wb", buffering=0) as file:
        while blocks < 1000:
            blocks += file.write(bytes(1024)) // 1024
except OSError as error:
    assert error.errno == errno.ENOSPC, error
print("ready", json.dumps({"held_kb": blocks}), flush=True)
signal.pause()
"""
SOLUTION = """
from hemra_protocol import Trial
trial = Trial("solution", "1")
trial.final(trial.terminal("head -c 9000 /dev/zero > spool/more || echo refused; echo fine > beside && cat beside"))
"""
VERIFIER = """
def verify(workspace, trace):
    said, held = trace["final"] or "", trace["values"]["held_kb"]
    full = "refused" in said and "No space left" in said and held == 64
    return {"status": "PASS" if full and "fine" in said else "FAIL", "reason": f"{held}: {said}"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of one task whose folder `spool` holds 64 KiB."""
    root = tmp_path / "tasks"
    extra = "world: world.py\nquota_kb: {spool: 64}\nallowed_tools: [terminal]\n"
    made = make_task(root, verifier=VERIFIER, **{"solution/solve.py": SOLUTION, "world.py": WORLD})
    made.joinpath("fixture/spool").mkdir(parents=True)
    made.joinpath("fixture/spool/.keep").touch()
    yaml = made / "task.yaml"
    yaml.write_text(yaml.read_text(encoding="utf-8") + extra, encoding="utf-8")
    return root


@pytest.mark.needs("bwrap")
def test_a_full_quota_is_real(hemra: Command, folder: Path) -> None:
    """If this failed, a task about a full disk would only be told of one."""
    run = hemra.run("--dataset", folder, "--harness", "oracle", "--sandbox", "bwrap")
    (row,) = hemra.json("report", run)["harnesses"]
    assert (row["scored"], row["passed"]) == (1, 1), hemra("log", "cat", run).stdout[-3000:]
    assert "quota_kb" not in hemra("log", "cat", run, "--type", "trial.started").stdout


def test_where_it_cannot_be_held_the_record_says_so(hemra: Command, folder: Path) -> None:
    """If this failed, a verdict from a disk that never was full would look like any other."""
    run = hemra.run("--dataset", folder, "--harness", "nop", "--sandbox", "host")
    started = hemra("log", "cat", run, "--type", "trial.started").stdout
    assert "quota_kb.spool" in started
    assert "a plain folder" in started
