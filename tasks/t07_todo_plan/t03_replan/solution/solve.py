"""Plans four steps, reads the notes, and merges what they ask for into the plan."""

import re

from hemra_protocol import Trial
from hemra_tools import Todo

trial = Trial("solution", "1")
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
trial.message("I make the plan.")
todo = Todo(trial)
todo.write([{"id": id, "content": content, "status": "pending"} for id, content in steps])
trial.message("I read the notes.")
notes = trial.read_file(re.search(r"`(handover-\d+\.txt)`", trial.instruction).group(1))
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", notes).groups()
trial.message("A step is missing.")
new = {"id": "p5", "content": f"{component} has to be {work}", "status": "pending"}
todo.write([{"id": "p1", "status": "completed"}, new], merge=True)
trial.final(f"The fifth step is about {component}.")
