"""Wrong: the files are right, but a relative path led far out of the workspace."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("wrong", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
quoted = shlex.quote(pattern)
call = trial.call("search_files", {"pattern": pattern, "path": "engine/../../../.."})
found = trial.terminal(f"grep -rlE {quoted} .")
trial.result(call, True, {"files": found.splitlines()})
trial.final(found)
