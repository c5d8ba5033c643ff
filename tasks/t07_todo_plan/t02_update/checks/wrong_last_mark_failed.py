"""All as it should be, but the call that completes the second item failed and was not made again."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"run {name}", "status": "pending"} for name in scripts])
printed = []
for name in scripts:
    todo.write([{"id": name, "status": "in_progress"}], merge=True)
    printed.append(trial.terminal(f"sh {name}"))
    if name == scripts[0]:
        todo.write([{"id": name, "status": "completed"}], merge=True)
call = trial.call("todo", {"todos": [{"id": scripts[1], "status": "completed"}], "merge": True})
trial.result(call, False, {"error": "the todo list is locked"})
trial.final("".join(printed))
