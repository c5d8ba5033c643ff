"""One shell that starts all, waits, and looks at each of its children."""

import re

from hemra_protocol import Trial

COMMAND = """
for job in NAMES; do python3 job.py $job > /dev/null 2>&1 & ids="$ids $job:$!"; done
until [ -e settled ]; do sleep 0.1; done
for each in $ids; do
    ps -p ${each#*:} -o pid= -o stat= | grep -qv Z && echo "${each%:*} (pid ${each#*:})"
done
true
"""

trial = Trial("right", "1")
names = re.split(r", | and ", re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1))
trial.message("I start them and look when all is settled.")
printed = trial.terminal(COMMAND.replace("NAMES", " ".join(names)))
trial.final(f"Still running are {' and '.join(printed.strip().splitlines())}.")
