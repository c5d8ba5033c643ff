"""Wrong: the new bytes were written over the first ones, and the rest is still there."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting}' | dd of=greeting.txt conv=notrunc 2>&1")
trial.final("greeting.txt holds the new line now.")
