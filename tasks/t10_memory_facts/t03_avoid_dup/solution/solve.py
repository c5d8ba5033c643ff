"""Looks into its memory, and adds the one fact whose number is not in it."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("solution", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
trial.message("I look what my memory holds.")
call = trial.call("memory", {"action": "read", "target": "memory"})
trial.result(call, True, {"success": True, "entries": memory.entries()})
new = [fact for fact in facts if re.search(r"[\d.]+(?= mV)", fact).group() not in " ".join(memory.entries())]
trial.message("One of the two is missing.")
memory.add(new[0])
trial.final("New was the fact about the " + re.search(r"The (.*) stands on", new[0]).group(1) + ".")
