"""Makes the plan and marks its first step as completed, though nothing was done."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
steps = [first, second, third, last]
todo = Todo(trial)
todo.write([{"id": str(n), "content": step, "status": "pending"} for n, step in enumerate(steps, 1)])
todo.write([{"id": "1", "status": "completed"}], merge=True)
trial.final(", ".join(re.search(r"`(\w+)`", step).group(1) for step in steps))
