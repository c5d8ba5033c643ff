"""Another right way: awk, in two steps of 5,000 lines."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
for first, last, sign in ((1, 5000, ">"), (5001, 10000, ">>")):
    trial.terminal(
        f"awk 'BEGIN {{ for (n = {first}; n <= {last}; n++) print \"{word}\", n }}' {sign} big.txt"
    )
trial.final("Done.")
