"""Saves that there is an offset, without the number."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
Memory(trial).add(fact.partition(" of ")[0])
trial.final(f"Saved: {fact}")
