"""Wrong: the old file took the place of the neighbour."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"mv greeting.txt greeting.old.txt; echo '{greeting}' > greeting.txt")
trial.final("greeting.txt holds the new line now.")
