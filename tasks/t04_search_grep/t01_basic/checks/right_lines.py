"""Another right way: the matching lines, shown one below the other by file, and an answer in prose."""

import re
import subprocess

from hemra_protocol import Trial

trial = Trial("right", "1")
call = trial.call("search_files", {"pattern": "TODO"})
command = ["grep", "-rn", "TODO", "."]
done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
trial.result(call, None, {"matches_text": done.stdout})
files = sorted(set(re.findall(r"(?m)^\./([^:]+):", done.stdout)))
trial.final(f"{len(files)} files have it: {', '.join(files[:-1])} and {files[-1]}.")
