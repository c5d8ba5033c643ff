"""Wrong: the first occurrence was changed."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.terminal(f"sed -i '0,/^{old}$/s/^{old}$/{new}/' dup_strings.py")
trial.final(f"The second line is {new} now.")
