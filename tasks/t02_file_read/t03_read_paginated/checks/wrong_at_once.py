"""Reads the whole file at once and reports the same."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.read_file("big_file.py")
total = len(text.splitlines())
found = ", ".join(re.findall(r"# CHECKPOINT: (\S+)", text))
trial.final(f"50, 50 and {total - 100} lines, {total} in all. Checkpoints: {found}.")
