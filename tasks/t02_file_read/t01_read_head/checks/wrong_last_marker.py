"""Reports the marker that stands behind the window."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.read_file("add.py")
head = "".join(text.splitlines(True)[:50])
marker = re.findall(r"# MARKER: (\S+)", text)[-1]
names = re.findall(r"^def (\w+)", head, re.MULTILINE)
trial.final(f"{marker}: {', '.join(names)}")
