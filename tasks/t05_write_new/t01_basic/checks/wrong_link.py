"""Wrong: greeting.txt is a link to a file outside of the workspace."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting}' > ~/there.txt; ln -s ~/there.txt greeting.txt")
trial.final("greeting.txt is written.")
