"""Wrong: the right error with a message of the agent's own."""

import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
guard = "    if b == 0:\\n        raise ValueError('b must not be zero')\\n&"
trial.terminal("sed -i " + shlex.quote(f"s/^    return a \\/ b \\* FACTOR$/{guard}/") + " broken_divide.py")
trial.final("divide now raises a ValueError when b is zero.")
