"""One batch of operations, in other words."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("right", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
name, bench, offset = re.search(r"The (.*) on bench (\d+) has .* of (.*)\.$", fact).groups()
content = f"Calibration - {name} (bench {bench}): offset = {offset.replace(' ', '')}"
arguments = {"target": "memory", "operations": [{"action": "add", "content": content}]}
Memory(trial).change(arguments, [content])
trial.final(f"I saved: *{content}*")
