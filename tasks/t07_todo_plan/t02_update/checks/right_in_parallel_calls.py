"""Marks and runs in calls of one turn, with a look at the list in between."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("right", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"Job {name}", "status": "pending"} for name in scripts])
trial.result(trial.call("todo", {}), True, {"todos": todo.items})
printed = []
for name in scripts:
    trial.message(f"Marking and running {name}.")
    todo.write([{"id": name, "content": f"Job {name}", "status": "in_progress"}], merge=True)
    printed.append(trial.terminal(f"sh ./{name}"))
    trial.message("Done.")
    todo.write([{"id": name, "content": f"Job {name}", "status": "completed"}], merge=True)
trial.final(" | ".join(printed))
