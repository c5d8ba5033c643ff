"""Takes the same instrument on another bench."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
prompt = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md").read_text(encoding="utf-8")
name, bench = re.search(
    r"offset of the ([\w ]+) on bench (\d+)", " ".join(trial.instruction.split())
).groups()
values = re.findall(rf"{name}, bench (\d+): calibration offset ([\d.]+) mV", prompt)
trial.final(next(f"{value} mV" for where, value in values if where != bench))
