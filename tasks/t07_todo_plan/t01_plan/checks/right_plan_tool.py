"""Another harness's plan tool: it names fields differently and gives no list back."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
brief = trial.instruction.replace("\n> ", " ")
third, second = re.search(r"You can (.*?), but only directly after you (.*?)\.", brief).groups()
last = re.search(r"At the very end, (.*?)\.", brief).group(1)
first = re.search(r"Before everything else, (.*?)\.", brief).group(1)
steps = [first, second, third, last]
call = trial.call(
    "update_plan", {"plan": [{"step": step[0].upper() + step[1:], "status": "pending"} for step in steps]}
)
trial.result(call, None, "Plan updated")
trial.final(" -> ".join(re.search(r"`(\w+)`", step).group(1) + "()" for step in steps))
