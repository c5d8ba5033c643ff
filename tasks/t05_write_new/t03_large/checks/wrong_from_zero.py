"""Wrong: the numbers run from 0 to 9999."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
trial.terminal(f"seq -f '{word} %.0f' 0 9999 > big.txt")
trial.final("big.txt has 10000 lines.")
