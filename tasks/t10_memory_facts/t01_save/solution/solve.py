"""Adds the fact to the memory and repeats it."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("solution", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I save it.")
Memory(trial).add(fact)
trial.final(f"Saved: {fact}")
