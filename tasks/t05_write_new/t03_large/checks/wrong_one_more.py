"""Wrong: there is a line too many."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
trial.terminal(f"seq -f '{word} %.0f' 1 10001 > big.txt")
trial.final("big.txt has 10000 lines.")
