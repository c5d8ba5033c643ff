"""Makes all the marks first and runs the scripts afterwards."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"run {name}", "status": "pending"} for name in scripts])
for name in scripts:
    todo.write([{"id": name, "status": "in_progress"}], merge=True)
    todo.write([{"id": name, "status": "completed"}], merge=True)
trial.final("".join(trial.terminal(f"sh {name}") for name in scripts))
