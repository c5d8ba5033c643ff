"""Finds the length of the file, reads its last 20 lines, and reports what stands in them."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("First the length of the file.")
length = int(trial.terminal("wc -l < add.py"))
trial.message("Now its last 20 lines.")
text = trial.read_file("add.py", offset=length - 19, limit=20)
marker = re.search(r"# MARKER: (\S+)", text).group(1)
last = re.findall(r"^def (\w+)", text, re.MULTILINE)[-1]
trial.final(f"MARKER is {marker}; the last function is {last}.")
