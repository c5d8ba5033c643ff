"""Starts the job, polls it for the code, confirms, and polls on until it has ended."""

import os
import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I start the job in the background.")
call = trial.call("terminal", {"command": "python3 job.py", "background": True})
job = subprocess.Popen(
    ["python3", "job.py"], cwd=trial.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
)
os.set_blocking(job.stdout.fileno(), False)
trial.result(call, True, {"session_id": "proc_1", "pid": job.pid, "exit_code": 0})


def poll(printed):
    """One call of the process tool. Returns whether the job has ended, and all that it has printed."""
    call = trial.call("process", {"action": "poll", "session_id": "proc_1"})
    ended = job.poll() is not None
    printed += (job.stdout.read() or b"").decode()
    status = {"status": "exited", "exit_code": job.returncode} if ended else {"status": "running"}
    trial.result(call, True, {**status, "session_id": "proc_1", "output_preview": printed})
    return ended, printed


trial.message("I poll it.")
ended, printed = False, ""
while "confirm: " not in printed:
    time.sleep(0.5)
    ended, printed = poll(printed)
trial.message("It asks for a confirmation.")
code = re.search(r"confirm: (\w+)", printed).group(1)
trial.terminal(f"echo {code} > confirm.txt")
while not ended:
    time.sleep(0.5)
    ended, printed = poll(printed)
trial.final("The result code is " + re.search(r"result: (\w+)", printed).group(1) + ".")
