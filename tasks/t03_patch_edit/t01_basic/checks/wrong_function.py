"""Wrong: the guard went into `ratio`, which has a division too."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
guard = f"    if b == 0:\\n        raise ValueError('{message}')\\n&"
trial.terminal("sed -i " + shlex.quote(f"s/^    return a \\/ b$/{guard}/") + " broken_divide.py")
trial.final("divide now raises a ValueError when b is zero.")
