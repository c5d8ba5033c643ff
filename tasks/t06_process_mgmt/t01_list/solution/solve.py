"""Starts the jobs in the background, lists them when all is settled, and reports who is still there."""

import pathlib
import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("solution", "1")
names = re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1)
jobs = {}
trial.message("I start the five jobs in the background.")
for name in re.split(r", | and ", names):
    command = f"python3 job.py {name}"
    call = trial.call("terminal", {"command": command, "background": True})
    job = subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=trial.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    jobs[f"proc_{job.pid:08x}"] = (name, job)
    started = {"output": "Background process started", "session_id": f"proc_{job.pid:08x}", "pid": job.pid}
    trial.result(call, True, {**started, "exit_code": 0})
while not pathlib.Path(trial.workspace, "settled").exists():
    time.sleep(0.1)
trial.message("Now I list them.")
call = trial.call("process", {"action": "list"})
listing = [
    {
        "session_id": session,
        "command": f"python3 job.py {name}",
        "pid": job.pid,
        "status": "running" if job.poll() is None else "exited",
    }
    for session, (name, job) in jobs.items()
]
trial.result(call, True, {"processes": listing})
running = [entry for entry in listing if entry["status"] == "running"]
trial.final("\n".join(f"{entry['command'].split()[-1]}: {entry['pid']}" for entry in running))
