"""The terminal way: notices that the sleep was left behind, and ends that too."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
ending, staying = re.findall(r"python3 service\.py (\w+)", trial.instruction)
trial.message("I start both and wait until they are up.")
for name in (ending, staying):
    trial.terminal(f"nohup python3 -u service.py {name} > {name}.log 2>&1 & echo $! > {name}.pid")
    trial.terminal(
        f"for i in $(seq 200); do grep -q 'is up' {name}.log && break; sleep 0.1; done; cat {name}.log"
    )
trial.message("I look for its child, then end both.")
child = trial.terminal(f"ps -o pid= --ppid $(cat {ending}.pid)").strip()
trial.terminal(f"kill $(cat {ending}.pid)")
printed = trial.terminal("python3 check.py || true")
if "still running" in printed:
    trial.message("Its sleep is left behind.")
    trial.terminal(f"kill {child}")
    printed = trial.terminal("python3 check.py")
trial.final("All done. The **receipt** is `" + re.search(r"receipt: (\w+)", printed).group(1) + "`.")
