"""Echoes HOME, runs the script, and answers with both outputs."""

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
    """Both values are what the terminal printed."""
    home = terminal('echo "$HOME"', turn=1).strip()
    code = terminal("bash home_code.sh", turn=2).strip()
    emit("final", text=f"HOME is `{home}`; {code}.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
