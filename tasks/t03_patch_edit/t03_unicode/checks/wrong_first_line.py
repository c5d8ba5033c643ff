"""Wrong: the first line got the globe."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"sed -i '1s/$/ {globe}/' hello.txt")
trial.final(f"hello.txt ends with {globe}.")
