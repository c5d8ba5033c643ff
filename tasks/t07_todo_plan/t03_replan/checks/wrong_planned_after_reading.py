"""Reads the notes first and plans all five steps at once: nothing is replanned."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
printed = trial.terminal("cat handover-*.txt")
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", printed).groups()
todo = Todo(trial)
todo.write([{"id": id, "content": content, "status": "pending"} for id, content in steps])
new = {"id": "p5", "content": f"{component} has to be {work}", "status": "pending"}
todo.write([{"id": "p1", "status": "completed"}, new], merge=True)
trial.final(component)
