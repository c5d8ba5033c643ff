"""Knows its memory from the prompt, and in one batch rewords the known entry and adds the new one."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("right", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
before = memory.entries()
numbers = {fact: re.search(r"[\d.]+(?= mV)", fact).group() for fact in facts}
known, new = sorted(facts, key=lambda fact: not any(numbers[fact] in entry for entry in before))
old = next(entry for entry in before if numbers[known] in entry)
batch = [{"action": "replace", "old_text": old, "content": known}, {"action": "add", "content": new}]
after = [known if entry == old else entry for entry in before]
memory.change({"target": "memory", "operations": batch}, [*after, new])
name, kept = (re.search(r"The (.*) stands on", fact).group(1) for fact in (new, known))
trial.final(f"**{name}** was new; the {kept} was known already.")
