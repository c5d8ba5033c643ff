"""Wrong: the pattern was searched as a text, and nothing was found."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"grep -rlF {shlex.quote(pattern)} .")
trial.final("No file matches.")
