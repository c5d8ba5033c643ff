"""Reads the notes in the terminal, and marks and merges in two calls."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("right", "1")
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
todo = Todo(trial)
plan = [{"id": id, "content": content.replace("`", ""), "status": "pending"} for id, content in steps]
todo.write(plan)
todo.write([{**plan[0], "status": "in_progress"}], merge=True)
printed = trial.terminal("cat handover-*.txt")
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", printed).groups()
todo.write([{**plan[0], "status": "completed"}], merge=True)
todo.write(
    [{"id": "p5", "content": f"make sure that `{component}` is {work}", "status": "pending"}], merge=True
)
trial.final(f"**{component}**")
