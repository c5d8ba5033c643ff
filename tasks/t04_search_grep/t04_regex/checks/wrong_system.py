"""Wrong: the files are right, but the system was searched too."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
found = trial.terminal(f"grep -rlE {shlex.quote(pattern)} . /etc/hostname").splitlines()
trial.final("\n".join(path for path in found if path.startswith("./")))
