"""Begins with a list in the wrong order, writes it anew, and merges the last step in."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("right", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
names = [re.search(r"`(\w+)`", step).group(1) for step in (first, second, third, last)]
todo = Todo(trial)
todo.write([{"id": name, "content": f"work on {name}", "status": "pending"} for name in reversed(names)])
todo.write(
    [{"id": str(n), "content": step, "status": "pending"} for n, step in enumerate((first, second, third), 1)]
)
todo.write([{"id": "4", "content": f"Finally: {last.replace('`', '')}", "status": "pending"}], merge=True)
trial.final("\n".join(f"{n}. **`{name}`**" for n, name in enumerate(names, 1)))
