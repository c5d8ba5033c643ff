"""Another right way: sed, addressed by the number of the line that grep gave."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.message("Where are they?")
second = trial.terminal(f"grep -n '^{old}$' dup_strings.py").splitlines()[1].partition(":")[0]
trial.message("I change that one.")
trial.terminal(
    f"sed -i.bak '{second}s/.*/{new}/' dup_strings.py && diff dup_strings.py.bak dup_strings.py; true"
)
trial.final("Done; the old file is kept as dup_strings.py.bak.")
