"""Another right way: `not b` as the condition, with a comment, put in by sed."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("right", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I edit it with sed and look at the result.")
lines = (
    f"    # nothing can be shared among nobody\\n    if not b:\\n        raise ValueError('{message}')\\n&"
)
trial.terminal("sed -i " + shlex.quote(f"s/^    return a \\/ b \\* FACTOR$/{lines}/") + " broken_divide.py")
trial.message("I try it, which leaves a __pycache__ behind.")
trial.terminal("cat broken_divide.py && python3 -c 'import broken_divide as b; print(b.divide(1, 2))'")
trial.final("The guard is in place.")
