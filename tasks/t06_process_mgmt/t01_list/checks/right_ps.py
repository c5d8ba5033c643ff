"""All in the terminal: starts with the shell, lists with ps, answers with a table."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
names = re.split(r", | and ", re.search(r"current directory: ([^.]+)\.", trial.instruction).group(1))
trial.message("I start them.")
for name in names:
    trial.terminal(f"nohup python3 job.py {name} > /dev/null 2>&1 &")
trial.terminal("until [ -e settled ]; do sleep 0.1; done")
trial.message("I list them.")
printed = trial.terminal("ps -eo pid,ppid,args | grep 'job.py' | grep -v grep")
place = re.escape(trial.workspace)
rows = []
for pid, name in re.findall(r"^ *(\d+) +\d+ .*job\.py (\w+)$", printed, re.MULTILINE):
    there = trial.terminal(f"readlink /proc/{pid}/cwd").strip()
    if name in names and re.fullmatch(place, there):
        rows.append(f"| {pid} | `{name}` | running |")
gone = [name for name in names if not any(f"`{name}`" in row for row in rows)]
trial.final(
    "| PID | Job | State |\n|---|---|---|\n" + "\n".join(rows) + f"\n\n{', '.join(gone)} have already exited."
)
