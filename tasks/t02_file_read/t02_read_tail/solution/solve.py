"""Finds the length of the file, reads its last 20 lines, and reports what stands in them."""

import itertools
import json
import pathlib
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


def read(path, offset=1, limit=None):
    """(ok, text) of `limit` lines of a workspace file from line `offset` (from 1)."""
    try:
        lines = pathlib.Path(TASK["workspace"], path).read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError as error:
        return False, f"{path}: {error.strerror}"
    return True, "".join(lines[offset - 1 :][:limit])


def read_file(path, turn, **window):
    """Read a file as a tool call, report what it really gave, and return (ok, text)."""
    identity = call("read_file", {"path": path, **window}, turn)
    ok, text = read(path, **window)
    emit("tool_result", call=identity, ok=ok, result=text)
    return ok, text


def solve():
    """The length comes from wc, everything else from the text that was read."""
    length = int(terminal("wc -l < add.py", turn=1))
    _, text = read_file("add.py", turn=2, offset=length - 19, limit=20)
    marker = re.search(r"# MARKER: (\S+)", text).group(1)
    last = re.findall(r"^def (\w+)", text, re.MULTILINE)[-1]
    emit("final", text=f"MARKER is {marker}; the last function is {last}.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
