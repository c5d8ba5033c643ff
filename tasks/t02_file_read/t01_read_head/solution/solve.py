"""Reads the first 50 lines and reports marker and functions found in them."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I read the first 50 lines.")
text = trial.read_file("add.py", limit=50)
marker = re.search(r"# MARKER: (\S+)", text).group(1)
names = ", ".join(re.findall(r"^def (\w+)", text, re.MULTILINE))
trial.final(f"The marker is {marker}. Functions defined in the first 50 lines: {names}.")
