"""Runs both and goes straight from pending to completed."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"run {name}", "status": "pending"} for name in scripts])
printed = [trial.terminal(f"sh {name}") for name in scripts]
todo.write([{"id": name, "content": f"run {name}", "status": "completed"} for name in scripts])
trial.final("".join(printed))
