"""Another right way: the shell's redirection."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting}' > greeting.txt")
trial.final("greeting.txt holds the new line now.")
