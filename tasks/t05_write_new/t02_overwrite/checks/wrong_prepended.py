"""Wrong: the line was put in front."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"sed -i '1i {greeting}' greeting.txt")
trial.final("greeting.txt holds the new line now.")
