"""Wrong: the right list, and the only call is on record as failed."""

import subprocess

from hemra_protocol import Trial

trial = Trial("wrong", "1")
done = subprocess.run(
    ["grep", "-rnw", "TODO", "."], cwd=trial.workspace, capture_output=True, text=True, check=False
)
call = trial.call("search_files", {"pattern": "TODO"})
trial.result(call, False, {"error": "timed out", "output": done.stdout})
trial.final(done.stdout)
