"""Runs both scripts and keeps no list at all."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
printed = [trial.terminal(f"sh {name}") for name in scripts]
trial.final("Both todo items are completed. " + " ".join(printed))
