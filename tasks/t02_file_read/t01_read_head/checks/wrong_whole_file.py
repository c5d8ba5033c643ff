"""Reads the whole file and reports all of its functions."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.read_file("add.py")
marker = re.search(r"# MARKER: (\S+)", text).group(1)
names = re.findall(r"^def (\w+)", text, re.MULTILINE)
trial.final(f"{marker}: {', '.join(names)}")
