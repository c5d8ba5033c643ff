"""Knows the ids from the start and guesses right who stays, but its only listing failed."""

import pathlib
import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
names = re.split(r", | and ", re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1))
jobs = {}
for name in names:
    call = trial.call("terminal", {"command": f"python3 job.py {name}", "background": True})
    jobs[name] = subprocess.Popen(["python3", "job.py", name], cwd=trial.workspace, stdout=subprocess.DEVNULL)
    trial.result(call, True, {"session_id": f"proc_{jobs[name].pid}", "pid": jobs[name].pid})
while not pathlib.Path(trial.workspace, "settled").exists():
    time.sleep(0.1)
call = trial.call("process", {"action": "list"})
trial.result(call, False, {"error": "the process tool is not available"})
trial.final("\n".join(f"{name} {job.pid}" for name, job in jobs.items() if job.poll() is None))
