"""Wrong: the call failed; the answer, which happens to be right, was not found by it."""

import subprocess

from hemra_protocol import Trial

trial = Trial("wrong", "1")
call = trial.call("search_files", {"pattern": "TODO", "path": "."})
trial.result(call, False, {"error": "search_files is not available"})
command = ["grep", "-rl", "TODO", "."]
trial.final(subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False).stdout)
