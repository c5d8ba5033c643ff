"""Wrong: the files are right, but it went up before it searched."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
found = trial.terminal(f"cd .. && grep -rlE {shlex.quote(pattern)} .").splitlines()
trial.final("\n".join(path.rpartition("/")[2] for path in found))
