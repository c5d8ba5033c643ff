"""Saves the fact with one digit changed."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
last = re.search(r"\.\d\d(\d) ", fact)
changed = fact[: last.start(1)] + str((int(last.group(1)) + 1) % 10) + fact[last.end(1) :]
Memory(trial).add(changed)
trial.final(f"Saved: {fact}")
