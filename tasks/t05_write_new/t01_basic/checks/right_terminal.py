"""Another right way: printf in the terminal, without a newline at the end."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"printf '%s' '{greeting}' > greeting.txt")
trial.final("greeting.txt is written.")
