"""Another right way: the file is kept under another name, and a new one made without a newline."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal("mv greeting.txt greeting.txt.bak")
trial.terminal(f"printf '%s' '{greeting}' > greeting.txt")
trial.final("greeting.txt holds the new line now.")
