"""Lists rightly and gives every running job the id of its neighbour."""

import pathlib
import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
names = re.split(r", | and ", re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1))
jobs = {name: subprocess.Popen(["python3", "job.py", name], cwd=trial.workspace) for name in names}
while not pathlib.Path(trial.workspace, "settled").exists():
    time.sleep(0.1)
call = trial.call("process", {"action": "list"})
running = [(name, job.pid) for name, job in jobs.items() if job.poll() is None]
trial.result(
    call, True, {"processes": [{"command": name, "pid": pid, "status": "running"} for name, pid in running]}
)
ids = [pid for _, pid in running]
trial.final("\n".join(f"{name}: {pid}" for (name, _), pid in zip(running, ids[1:] + ids[:1], strict=True)))
