"""Wrong: very small divisors are refused as well."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
guard = f"    if abs(b) < 1e-9:\\n        raise ValueError('{message}')\\n&"
trial.terminal("sed -i " + shlex.quote(f"s/^    return a \\/ b \\* FACTOR$/{guard}/") + " broken_divide.py")
trial.final("divide now raises a ValueError when b is zero.")
