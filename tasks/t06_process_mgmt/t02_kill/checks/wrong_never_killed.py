"""Lets the service end by itself, under a time limit, instead of killing it."""

import re
import subprocess

from hemra_protocol import Trial

trial = Trial("wrong", "1")
ending, staying = re.findall(r"python3 service\.py (\w+)", trial.instruction)
trial.terminal(f"nohup python3 -u service.py {staying} > {staying}.log 2>&1 &")
trial.terminal(f"for i in $(seq 200); do grep -q 'is up' {staying}.log && break; sleep 0.1; done")
command = f"timeout 1 python3 service.py {ending}"
call = trial.call("terminal", {"command": command})
subprocess.run(["/bin/sh", "-c", command], cwd=trial.workspace, stdout=subprocess.DEVNULL, check=False)
trial.result(call, True, {"output": f"{ending} is up\n", "exit_code": 124})
trial.final(trial.terminal("python3 check.py"))
