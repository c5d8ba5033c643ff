"""Creates both items, then marks, runs and marks again, one script after the other."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("solution", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
trial.message("I create the two items.")
todo = Todo(trial)
todo.write(
    [{"id": str(n), "content": f"run {script}", "status": "pending"} for n, script in enumerate(scripts, 1)]
)
codes = []
for n, script in enumerate(scripts, 1):
    trial.message(f"Now {script}.")
    todo.write([{"id": str(n), "status": "in_progress"}], merge=True)
    codes.append(trial.terminal(f"sh {script}").strip())
    todo.write([{"id": str(n), "status": "completed"}], merge=True)
trial.final("\n".join(f"{script}: {code}" for script, code in zip(scripts, codes, strict=True)))
