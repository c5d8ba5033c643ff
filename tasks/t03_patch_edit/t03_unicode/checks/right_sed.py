"""Another right way: sed on the last line."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"sed -i '$s/$/ {globe}/' hello.txt && tail -n 1 hello.txt")
trial.final("Done.")
