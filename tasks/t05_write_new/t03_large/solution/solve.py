"""Generates the file in the terminal and looks at its ends."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
trial.message("I let seq make the lines.")
trial.terminal(f"seq -f '{word} %.0f' 1 10000 > big.txt")
trial.message("I look at the ends and count.")
shown = trial.terminal("wc -l < big.txt; head -n 2 big.txt; tail -n 2 big.txt")
trial.final(f"big.txt has {shown.split()[0]} lines.")
