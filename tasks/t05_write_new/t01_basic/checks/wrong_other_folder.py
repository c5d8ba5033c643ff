"""Wrong: the file is in a folder."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"mkdir out && echo '{greeting}' > out/greeting.txt")
trial.final("greeting.txt is written.")
