"""A harness that puts its memory into the prompt: nothing has to be called."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("right", "1")
prompt = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md").read_text(encoding="utf-8")
name, bench = re.search(
    r"offset of the ([\w ]+) on bench (\d+)", " ".join(trial.instruction.split())
).groups()
value = re.search(rf"{name}, bench {bench}: calibration offset ([\d.]+) mV", prompt).group(1)
trial.final(f"The offset of the {name} on bench {bench} is **{value}** mV.")
