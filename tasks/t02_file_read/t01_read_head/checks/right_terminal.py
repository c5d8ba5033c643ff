"""Reads the window with head."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.terminal("head -n 50 add.py")
marker = re.search(r"# MARKER: (\S+)", text).group(1)
names = "\n".join(f"* `{name}()`" for name in re.findall(r"^def (\w+)", text, re.MULTILINE))
trial.final(f"MARKER: `{marker}`\n\nFunctions:\n{names}")
