"""Wrong: gives up after the first refusal."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
said = trial.terminal(f"curl -s {address}")
trial.final(f"The server refuses: {said}. 1 request was made.")
