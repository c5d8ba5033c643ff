"""Leaves out the last function of the window."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.read_file("add.py", limit=50)
marker = re.search(r"# MARKER: (\S+)", text).group(1)
names = re.findall(r"^def (\w+)", text, re.MULTILINE)[:-1]
trial.final(f"{marker}: {', '.join(names)}")
