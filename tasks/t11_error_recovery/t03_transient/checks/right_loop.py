"""Another right way: one command with a loop; the number in words."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
loop = f"for n in 1 2 3 4 5; do curl -sf {address} && echo request $n && break; sleep 1.1; done"
said = trial.terminal(loop)
code, number = re.search(r"day is (.+)\.\nrequest (\d)", said).groups()
words = {"2": "two", "3": "three"}
trial.final(f"After {words[number]} requests: **{code}**")
