"""Reads the window with tail."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.terminal("tail -n 20 add.py")
marker = re.search(r"# MARKER: (\S+)", text).group(1)
last = re.findall(r"^def (\w+)", text, re.MULTILINE)[-1]
trial.final(f"`{marker}`, and the last function is `{last}`")
