"""The merging call failed; the answer is right all the same."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
todo = Todo(trial)
todo.write([{"id": id, "content": content, "status": "pending"} for id, content in steps])
printed = trial.terminal("cat handover-*.txt")
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", printed).groups()
new = {"id": "p5", "content": f"{component} has to be {work}", "status": "pending"}
call = trial.call("todo", {"todos": [{"id": "p1", "status": "completed"}, new], "merge": True})
trial.result(call, False, {"error": "todos must be a list"})
trial.final(component)
