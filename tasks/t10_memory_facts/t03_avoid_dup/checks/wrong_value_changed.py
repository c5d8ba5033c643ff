"""Adds the new fact with the number of the known one."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
numbers = {fact: re.search(r"[\d.]+(?= mV)", fact).group() for fact in facts}
known, new = sorted(facts, key=lambda fact: numbers[fact] not in " ".join(memory.entries()))
memory.add(new.replace(numbers[new], numbers[known]))
trial.final("New: " + re.search(r"The (.*) stands on", new).group(1))
