"""Starts both services, kills the whole group of the one, and reports the receipt."""

import os
import re
import select
import signal
import subprocess

from hemra_protocol import Trial

trial = Trial("solution", "1")
services = {}
trial.message("I start both services in the background.")
for name in re.findall(r"python3 service\.py (\w+)", trial.instruction):
    call = trial.call("terminal", {"command": f"python3 service.py {name}", "background": True})
    services[name] = subprocess.Popen(
        ["python3", "-u", "service.py", name],
        cwd=trial.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    trial.result(call, True, {"session_id": f"proc_{name}", "pid": services[name].pid, "exit_code": 0})
for name, service in services.items():
    call = trial.call("process", {"action": "poll", "session_id": f"proc_{name}"})
    select.select([service.stdout], [], [], 20)
    printed = os.read(service.stdout.fileno(), 1000).decode()
    trial.result(call, True, {"status": "running", "pid": service.pid, "output_preview": printed})
ending = re.search(r"kill `(\w+)`", trial.instruction).group(1)
trial.message(f"Both are up. I kill {ending} and its sleep.")
call = trial.call("process", {"action": "kill", "session_id": f"proc_{ending}"})
os.killpg(services[ending].pid, signal.SIGKILL)
services[ending].wait()
trial.result(call, True, {"status": "killed", "session_id": f"proc_{ending}"})
trial.message("Now the check.")
printed = trial.terminal("python3 check.py")
trial.final(printed.strip())
