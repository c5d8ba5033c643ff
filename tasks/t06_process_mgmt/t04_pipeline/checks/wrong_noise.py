"""Takes the first x that it sees, which is the warning's."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
one_liner = re.search(r"^    (python3 -c .*)$", trial.instruction, re.MULTILINE).group(1)
printed = trial.terminal(f"{one_liner} 2>&1")
trial.final("x is " + re.search(r"x\W+(\d{6})", printed).group(1))
