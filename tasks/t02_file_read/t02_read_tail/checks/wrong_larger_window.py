"""Takes the first marker of the last 50 lines."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.terminal("tail -n 50 add.py")
marker = re.search(r"# MARKER: (\S+)", text).group(1)
name = re.findall(r"^def (\w+)", text, re.MULTILINE)[-1]
trial.final(f"{marker}, {name}")
