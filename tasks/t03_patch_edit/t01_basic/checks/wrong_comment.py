"""Wrong: the guard stands there as a comment only."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
comment = f"    # if b == 0: raise ValueError('{message}')\\n&"
trial.terminal("sed -i " + shlex.quote(f"s/^    return a \\/ b \\* FACTOR$/{comment}/") + " broken_divide.py")
trial.final("divide now raises a ValueError when b is zero.")
