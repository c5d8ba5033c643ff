"""Wrong: the second line is right, and the newline at the end of the file is gone."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
number = trial.terminal(f"grep -n '^{old}$' dup_strings.py").splitlines()[1].partition(":")[0]
trial.terminal(f"sed -i '{number}s/.*/{new}/' dup_strings.py && truncate -s -1 dup_strings.py")
trial.final(f"The second line is {new} now.")
