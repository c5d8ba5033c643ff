"""Reads the first 50 lines and reports marker and functions found in them."""

import itertools
import json
import pathlib
import re
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
    """Everything in the answer comes from the text that was read."""
    _, text = read_file("add.py", turn=1, offset=1, limit=50)
    marker = re.search(r"# MARKER: (\S+)", text).group(1)
    names = ", ".join(re.findall(r"^def (\w+)", text, re.MULTILINE))
    emit("final", text=f"The marker is {marker}. Functions defined in the first 50 lines: {names}.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
