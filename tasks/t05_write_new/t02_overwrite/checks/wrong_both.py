"""Wrong: the neighbour was overwritten as well."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting}' | tee greeting.txt greeting.old.txt")
trial.final("greeting.txt holds the new line now.")
