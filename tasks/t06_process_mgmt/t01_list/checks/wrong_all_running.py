"""Starts all, looks only at what the start gave back, and reports all five as running."""

import pathlib
import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
names = re.split(r", | and ", re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1))
lines = []
for name in names:
    call = trial.call("terminal", {"command": f"python3 job.py {name}", "background": True})
    job = subprocess.Popen(["python3", "job.py", name], cwd=trial.workspace, stdout=subprocess.DEVNULL)
    trial.result(call, True, {"session_id": f"proc_{job.pid}", "pid": job.pid})
    lines.append(f"{name}: {job.pid}")
call = trial.call("process", {"action": "list"})
trial.result(call, True, {"processes": [{"command": line, "status": "running"} for line in lines]})
while not pathlib.Path(trial.workspace, "settled").exists():
    time.sleep(0.1)
trial.final("\n".join(lines))
