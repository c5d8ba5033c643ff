"""Remembers the value but not all its digits."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
prompt = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md").read_text(encoding="utf-8")
trial.final("It is " + re.search(r"offset ([\d.]+)\d mV \(new since", prompt).group(1) + " mV")
