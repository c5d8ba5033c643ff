"""Wrong: the first line was replaced."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"sed -i '1s/.*/{greeting}/' greeting.txt")
trial.final("greeting.txt holds the new line now.")
