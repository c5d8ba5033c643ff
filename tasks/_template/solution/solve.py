"""Does the task with a real command, as a program of the harness protocol."""

import itertools
import json
import re
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
    """The file name comes from the instruction, the word from the file."""
    name = re.search(r"`([^`]+\.txt)`", TASK["instruction"]).group(1)
    printed = terminal(f"cat {name}", turn=1)
    emit("final", text="The secret word is " + re.search(r"SECRET=(\S+)", printed).group(1))


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
