"""The terminal way: output into a file, and a look at it now and then."""

import re
import time

from hemra_protocol import Trial

trial = Trial("right", "1")
trial.terminal("nohup python3 job.py > job.log 2>&1 &")
printed = ""
while "confirm: " not in printed:
    time.sleep(0.4)
    printed = trial.terminal("tail -n 5 job.log; pgrep -f job.py || true")
code = re.search(r"confirm: (\w+)", printed).group(1)
trial.terminal(f"printf %s {code} > confirm.txt")
while "result: " not in printed:
    time.sleep(0.4)
    printed = trial.terminal("cat job.log")
trial.final("`" + re.search(r"result: (\w+)", printed).group(1) + "`")
