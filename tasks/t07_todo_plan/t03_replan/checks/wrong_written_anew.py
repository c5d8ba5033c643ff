"""Writes the whole list anew instead of merging."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
todo = Todo(trial)
plan = [{"id": id, "content": content, "status": "pending"} for id, content in steps]
todo.write(plan)
printed = trial.terminal("cat handover-*.txt")
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", printed).groups()
new = {"id": "p5", "content": f"{component} has to be {work}", "status": "pending"}
todo.write([{**plan[0], "status": "completed"}, *plan[1:], new])
trial.final(component)
