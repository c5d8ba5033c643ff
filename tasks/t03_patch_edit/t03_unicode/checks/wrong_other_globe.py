"""Wrong: another globe than the one that was asked for."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
other = "\U0001f30e" if globe != "\U0001f30e" else "\U0001f30f"
trial.terminal(f"sed -i '$s/$/ {other}/' hello.txt")
trial.final(f"hello.txt ends with {globe}.")
