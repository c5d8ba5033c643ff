"""Works out the order of the steps and writes the plan in one call."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("solution", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
steps = [first, second, third, last]
trial.message("I write the plan.")
todo = Todo(trial)
todo.write([{"id": str(n), "content": step, "status": "pending"} for n, step in enumerate(steps, 1)])
trial.final(", ".join(re.search(r"`(\w+)`", step).group(1) for step in steps))
