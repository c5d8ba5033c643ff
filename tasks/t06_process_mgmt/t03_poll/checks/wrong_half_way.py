"""Polls and confirms, but reports the code of half-way and does not wait for the end."""

import re
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.terminal("nohup python3 job.py > job.log 2>&1 &")
printed = ""
while "confirm: " not in printed:
    time.sleep(0.3)
    printed = trial.terminal("cat job.log")
code = re.search(r"confirm: (\w+)", printed).group(1)
trial.terminal(f"echo {code} > confirm.txt")
time.sleep(2.5)
trial.final(f"result: {code}")
