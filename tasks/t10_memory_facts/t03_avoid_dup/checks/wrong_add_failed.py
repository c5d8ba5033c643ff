"""The only add failed."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
new = [fact for fact in facts if re.search(r"[\d.]+(?= mV)", fact).group() not in " ".join(memory.entries())]
call = trial.call("memory", {"action": "add", "target": "memory", "content": new[0]})
trial.result(call, True, {"success": False, "error": "Memory is not available."})
trial.final("New: " + re.search(r"The (.*) stands on", new[0]).group(1))
