"""Names the function before the last one."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.read_file("add.py")
marker = re.findall(r"# MARKER: (\S+)", text)[-1]
name = re.findall(r"^def (\w+)", text, re.MULTILINE)[-2]
trial.final(f"{marker}, {name}")
