"""Requests it, waits a second after every refusal, and stops when it has the code."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
trial.message("I request the address.")
requests = 1
said = trial.terminal(f"curl -s {address}")
while "code of the day" not in said and requests < 5:
    trial.message("Not there yet; I wait and try again.")
    requests += 1
    said = trial.terminal(f"sleep 1 && curl -s {address}")
trial.final(f"The code is {re.search(r'day is (.+)[.]', said)[1]}; it took {requests} requests.")
