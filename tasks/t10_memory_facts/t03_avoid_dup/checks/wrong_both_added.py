"""Adds both facts without looking: one is there twice."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
for fact in facts:
    memory.add(fact)
trial.final("Both are saved: " + " and ".join(facts))
