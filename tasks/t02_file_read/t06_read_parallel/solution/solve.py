"""Reads the three files in one turn, as three calls that are all made before the first result."""

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


def solve():
    """Three calls of turn 1, then their results."""
    names = ("a.py", "b.py", "c.py")
    calls = {name: call("read_file", {"path": name}, turn=1) for name in names}
    codes = []
    for name, identity in calls.items():
        ok, text = read(name)
        emit("tool_result", call=identity, ok=ok, result=text)
        code = re.search(r'CODE = "([^"]+)"', text).group(1)
        codes.append(f"{name}: {code}")
    emit("final", text="\n".join(codes))


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
