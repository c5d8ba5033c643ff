"""Wrong: the line went into the file beside it."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{greeting}' > greetings.txt")
trial.final("greeting.txt is written.")
