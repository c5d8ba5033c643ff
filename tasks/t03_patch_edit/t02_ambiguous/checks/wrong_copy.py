"""Wrong: the change is in a copy."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.terminal(f"tac dup_strings.py | sed '0,/^{old}$/s/^{old}$/{new}/' | tac > dup_strings_new.py")
trial.final(f"The second line is {new} now.")
