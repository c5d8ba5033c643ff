"""Wrong: the files are right, but the folder above was searched."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
found = trial.terminal(f"grep -rlE {shlex.quote(pattern)} ../").splitlines()
trial.final("\n".join(path.split("/", 2)[2] for path in found if path.endswith(".py")))
