"""Wrong: the globe as an escape in letters."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"sed -i '$s/$/ U+{ord(globe):X}/' hello.txt")
trial.final(f"hello.txt ends with {globe}.")
