"""Wrong: nothing but the globe is left in the file."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"printf '%s\\\\n' '{globe}' > hello.txt")
trial.final(f"hello.txt ends with {globe}.")
