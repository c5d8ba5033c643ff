"""Gives the value that held before."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
prompt = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md").read_text(encoding="utf-8")
trial.final("It is " + re.search(r"it was ([\d.]+ mV) until then", prompt).group(1))
