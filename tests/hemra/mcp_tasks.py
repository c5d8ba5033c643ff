"""A task that declares an MCP server of this machine, one that does not, and such a server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.conftest import Command
from tests.hemra.task_folders import TASK_YAML, make_task

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"
HEAD = TASK_YAML.format(id="demo/one")


@contextlib.contextmanager
def listening() -> Iterator[int]:
    """The port of the example's HTTP server, which runs on this machine; it knows the account A-1."""
    program = EXAMPLES / "mcp/ledger-http/world.py"
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"seed": 1, "values": {"balances": {"A-1": 77}}}).encode())
        process.stdin.close()
        url = json.loads(process.stdout.readline().removeprefix(b"ready "))["ledger_url"]
        try:
            yield int(url.rpartition(":")[2].partition("/")[0])
        finally:
            process.kill()


#: A solution that asks the server, and one that knocks at the port although its task has declared nothing.
ASKS = """
from hemra_protocol import Trial
from hemra_tools import mcp

trial = Trial("solution", "1")
trial.final(mcp(trial, "ledger", "lookup", {"account": "A-1"}))
"""
KNOCKS = """
import socket
from hemra_protocol import Trial

trial = Trial("solution", "1")
try:
    socket.create_connection(("127.0.0.1", PORT), timeout=5)
    trial.final("open")
except OSError:
    trial.final("closed")
"""
ANSWERED = """
def verify(workspace, trace):
    said = str(trace["final"]).splitlines()[0]
    ok = said in ("A-1: 77", "closed")
    return {"status": "PASS" if ok else "FAIL", "reason": said}
"""


def two_tasks(root: Path, port: int) -> Path:
    """A dataset: a task that declares the server at the port, and one that does not."""
    url = f"mcp_servers: {{ledger: {{url: 'http://127.0.0.1:{port}/mcp'}}}}\nnetwork: mock\n"
    make_task(root, yaml=HEAD + url, verifier=ANSWERED, **{"solution/solve.py": ASKS})
    other = TASK_YAML.format(id="demo/two")
    knocks = KNOCKS.replace("PORT", str(port))
    make_task(root, "demo/two", yaml=other, verifier=ANSWERED, **{"solution/solve.py": knocks})
    return root


def outcomes(hemra: Command, dataset: Path, sandbox: str) -> dict[str, tuple[str, str]]:
    """How the trials of the oracle ended, and what the verifier said of them, by task."""
    run = hemra.run("--dataset", dataset, "--harness", "oracle", "--sandbox", sandbox)
    trials = hemra.json("show", run)["trials"]
    return {trial["task"]: (trial["outcome"], trial["score_reason"]) for trial in trials}
