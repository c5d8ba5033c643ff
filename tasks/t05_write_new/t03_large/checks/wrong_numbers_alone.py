"""Wrong: the word is left out."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
trial.terminal("seq 1 10000 > big.txt")
trial.final("big.txt has 10000 lines.")
