"""Wrong: the result says that the V4A patch did not apply, and sed did it in its place."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
line = re.search(r"^    (x = \d+)$", trial.instruction, re.MULTILINE).group(1)


patch = f"*** Begin Patch\n*** Update File: target.py\n@@\n+{line}\n import os\n*** End Patch"
call = trial.call("patch", {"mode": "patch", "patch": patch})
trial.result(call, None, '{"success": false, "error": "context not found"}')
trial.terminal(f"sed -i '1i {line}' target.py")
trial.final(f"The first line of target.py is {line}.")
