"""Does it all without looking: the polls go to a session that is not there, yet the code is right by luck."""

import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
call = trial.call("terminal", {"command": "python3 job.py", "background": True})
with open(f"{trial.workspace}/job.log", "wb") as log:
    job = subprocess.Popen(["python3", "job.py"], cwd=trial.workspace, stdout=log)
trial.result(call, True, {"session_id": "proc_1", "pid": job.pid})
text = ""
while job.poll() is None:
    time.sleep(0.2)
    with open(f"{trial.workspace}/job.log", encoding="utf-8") as log:
        text = log.read()
    if code := re.search(r"confirm: (\w+)", text):
        with open(f"{trial.workspace}/confirm.txt", "w", encoding="utf-8") as file:
            file.write(code.group(1))
with open(f"{trial.workspace}/job.log", encoding="utf-8") as log:
    text = log.read()
call = trial.call("process", {"action": "poll", "session_id": "proc_2"})
trial.result(call, False, {"status": "not_found", "error": "No process with ID proc_2"})
trial.final("result: " + re.search(r"result: (\w+)", text).group(1))
