"""Wrong: requests the address once more when it has the code."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
said, requests = "", 0
while "day is" not in said:
    said, requests = trial.terminal(f"curl -s {address}; sleep 1"), requests + 1
said = trial.terminal(f"curl -s {address}")
trial.final(f"The code is {re.search(r'day is (.+)[.]', said)[1]}; it took {requests} requests.")
