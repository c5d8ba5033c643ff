"""Wrong: the new value stands in a comment only."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

number = trial.terminal(f"grep -n 'return \"{old}\"' multi.py").splitlines()[1].partition(":")[0]
trial.terminal(f"sed -i '{number}s/$/  # return \"{new}\"/' multi.py")
trial.final(f"The second handler returns {new} now.")
