"""Kills the service alone: its sleep goes on, the check says so, and the answer claims success all the same."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
ending, staying = re.findall(r"python3 service\.py (\w+)", trial.instruction)
for name in (ending, staying):
    trial.terminal(f"nohup python3 -u service.py {name} > {name}.log 2>&1 & echo $! > {name}.pid")
    trial.terminal(f"for i in $(seq 200); do grep -q 'is up' {name}.log && break; sleep 0.1; done")
trial.terminal(f"kill $(cat {ending}.pid)")
printed = trial.terminal("python3 check.py")
trial.final(f"{ending} was killed, {staying} goes on. Receipt: 4f1d09c2aa37. The check said: {printed}")
