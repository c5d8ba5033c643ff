"""Kills everything: the service that has to go on is gone too."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
for name in re.findall(r"python3 service\.py (\w+)", trial.instruction):
    trial.terminal(f"nohup setsid python3 -u service.py {name} > {name}.log 2>&1 & echo $! > {name}.pid")
    trial.terminal(f"for i in $(seq 200); do grep -q 'is up' {name}.log && break; sleep 0.1; done")
trial.terminal("for file in *.pid; do kill -9 -- -$(cat $file) $(cat $file); done")
trial.final(trial.terminal("sleep 0.3; python3 check.py"))
