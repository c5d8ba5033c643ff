"""Reads its memory and answers with what it says of that instrument on that bench."""

import re

from hemra_protocol import Trial
from hemra_tools import Memory

trial = Trial("solution", "1")
name, bench = re.search(
    r"offset of the ([\w ]+) on bench (\d+)", " ".join(trial.instruction.split())
).groups()
trial.message("I look into my memory.")
memory = Memory(trial)
call = trial.call("memory", {"action": "read", "target": "memory"})
trial.result(call, True, {"success": True, "entries": memory.entries()})
found = [entry for entry in memory.entries() if entry.startswith(f"{name}, bench {bench}:")]
trial.final(re.search(r"calibration offset ([\d.]+ mV)", found[0]).group(1))
