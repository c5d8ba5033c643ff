"""Lists the directory, reads names and sizes out of the listing, and names them all."""

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
    """The columns of a long listing: mode, links, owner, group, size, three of date, name."""
    entries = []
    for line in terminal("LC_ALL=C ls -la", turn=1).splitlines():
        columns = line.split(None, 8)
        if len(columns) == 9 and columns[8] not in (".", ".."):
            entries.append((columns[0], int(columns[4]), columns[8]))
    size, largest = max((size, name) for mode, size, name in entries if mode.startswith("-"))
    names = "\n".join(f"- `{name}`" for _, _, name in entries)
    emit("final", text=f"The directory holds:\n{names}\n\nThe largest file is `{largest}` with {size} bytes.")


if __name__ == "__main__":
    emit("hello", protocol="hemra/1", name="solution", version="1")
    solve()
