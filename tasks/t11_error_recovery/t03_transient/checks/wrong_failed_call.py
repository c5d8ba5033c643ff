"""Wrong: the right words, and the only call is on record as failed."""

import re
import subprocess
import time

from hemra_protocol import Trial

trial = Trial("wrong", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
call = trial.call("terminal", {"command": f"curl --retry 4 {address}"})
said, requests = "", 0
while "day is" not in said:
    done = subprocess.run(["curl", "-s", address], capture_output=True, text=True, check=False)
    said, requests = done.stdout, requests + 1
    time.sleep(1)
trial.result(call, False, {"error": "timed out", "output": said})
trial.final(f"The code is {re.search(r'day is (.+)[.]', said)[1]}; it took {requests} requests.")
