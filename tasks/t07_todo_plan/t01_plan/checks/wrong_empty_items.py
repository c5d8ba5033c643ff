"""Writes four items that say nothing; only the answer is right."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("wrong", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
names = [re.search(r"`(\w+)`", step).group(1) for step in (first, second, third, last)]
todo = Todo(trial)
todo.write([{"id": str(n), "content": "", "status": "pending"} for n in range(1, 5)])
trial.final(", ".join(names))
