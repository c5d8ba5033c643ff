"""Wrong: only the top was searched."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.final(trial.terminal(f"grep -lE {shlex.quote(pattern)} -- *.py"))
