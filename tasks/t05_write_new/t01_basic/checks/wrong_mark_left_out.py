"""Wrong: the exclamation mark is left out."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting[:-1]}' > greeting.txt")
trial.final("greeting.txt is written.")
