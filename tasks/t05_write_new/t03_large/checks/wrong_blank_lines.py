"""Wrong: ten thousand blank lines."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
trial.terminal("yes '' | head -n 10000 > big.txt")
trial.final("big.txt has 10000 lines.")
