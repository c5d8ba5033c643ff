"""Wrong: gives up when the patch is refused, and says otherwise."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

trial.read_file("multi.py")
call = trial.call(
    "patch", {"path": "multi.py", "old_string": f'return "{old}"', "new_string": f'return "{new}"'}
)
trial.result(call, False, {"success": False, "error": "Found 3 matches for old_string"})
trial.final(f"The second handler returns {new} now.")
