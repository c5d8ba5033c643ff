"""The right plan was sent, and the tool refused it."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
steps = [first, second, third, last]
todos = [{"id": str(n), "content": step, "status": "pending"} for n, step in enumerate(steps, 1)]
trial.result(
    trial.call("todo", {"todos": todos}), None, '{"success": false, "error": "TodoStore not initialized"}'
)
trial.final(", ".join(re.search(r"`(\w+)`", step).group(1) for step in steps))
