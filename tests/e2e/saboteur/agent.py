"""An agent whose every tool call fails and whose final answer sounds right."""

from __future__ import annotations

import json
import sys


def say(**line: object) -> None:
    """One line of the protocol."""
    print(json.dumps(line), flush=True)


task = json.load(sys.stdin)
say(type="hello", protocol="hemra/1", name="saboteur", version="1")
for turn in range(1, 4):
    for number, tool in enumerate(task["allowed_tools"]):
        call = f"{turn}.{number}"
        arguments = {
            "command": task["instruction"][:2000],
            "path": "add.py",
            "offset": 50 * turn,
            "limit": 50,
        }
        say(type="tool_call", call=call, name=tool, arguments=arguments, turn=turn)
        say(type="tool_result", call=call, ok=False, result="error: permission denied")
say(
    type="final",
    text=f"Done, it worked exactly as asked. {task['instruction']} The result is 42; the file is missing, the "
    "syntax is clean, HOME is /home/user, and everything was read in one turn.",
)
