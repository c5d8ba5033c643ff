"""A loop of the shell polls, answers and waits, all in one call."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
printed = trial.terminal(
    "python3 job.py > out.txt & until grep -q confirm: out.txt; do sleep 0.2; done; "
    "sed -n 's/^confirm: //p' out.txt > confirm.txt; wait; cat out.txt"
)
trial.final(
    "The job ended and printed:\n```\nresult: " + re.search(r"result: (\w+)", printed).group(1) + "\n```"
)
