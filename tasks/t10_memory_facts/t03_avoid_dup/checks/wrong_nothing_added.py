"""Finds out which is new, says so, and saves nothing."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
call = trial.call("memory", {"action": "read", "target": "memory"})
trial.result(call, True, {"success": True, "entries": memory.entries()})
new = [fact for fact in facts if re.search(r"[\d.]+(?= mV)", fact).group() not in " ".join(memory.entries())]
trial.final(f"Saved: {new[0]}")
