"""Wrong: the beginning of the pattern was left away."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.final(trial.terminal(f"grep -rlE {shlex.quote(pattern[3:])} ."))
