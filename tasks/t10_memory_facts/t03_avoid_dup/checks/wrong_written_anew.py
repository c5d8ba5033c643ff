"""Leaves the two facts alone in the memory: the others are lost."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
old = " ".join(memory.entries())
memory.change(
    {"action": "replace", "target": "memory", "old_text": old, "content": "\n§\n".join(facts)}, facts
)
trial.final("\n".join(facts))
