"""Counts with the pipeline and answers with what it printed."""

import itertools
import json
import subprocess
import sys

TASK = json.load(sys.stdin)
CALLS = itertools.count(1)


def emit(kind, **fields):
    """One line of the harness protocol."""
    print(json.dumps({"type": kind, **fields}), flush=True)


def call(name, arguments, turn):
    """Announce a tool call; its id is returned."""
    identity = f"call-{next(CALLS)}"
    emit("tool_call", call=identity, name=name, arguments=arguments, turn=turn)
    return identity


def terminal(command, turn):
    """Run a shell command in the workspace, report what it really did, and return its output."""
    identity = call("terminal", {"command": command}, turn)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=TASK["workspace"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=30,
        check=False,
    )
    shown = {"exit_code": done.returncode, "output": done.stdout}
    emit("tool_result", call=identity, ok=done.returncode == 0, result=shown)
    return done.stdout


def solve():
    """One pipeline; its output is the answer."""
    printed = terminal("cat add.py | grep def | wc -l", turn=1)
    emit("final", text=f"{printed.strip()} lines of add.py contain def.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
