"""Wrong: one of the two alternatives was searched."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
one = re.sub(r"\|\w+", "", pattern)
trial.final(trial.terminal(f"grep -rlE {shlex.quote(one)} ."))
