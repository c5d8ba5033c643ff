"""Reads the path that the instruction names and reports the key in it."""

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
    """The path comes from the instruction, the key from the file."""
    path = re.search(r"`([^`]+/add\.py)`", TASK["instruction"]).group(1)
    _, text = read_file(path, turn=1)
    key = re.search(r'BUILD_KEY = "([^"]+)"', text).group(1)
    emit("final", text=f"BUILD_KEY in {path} is {key}.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
