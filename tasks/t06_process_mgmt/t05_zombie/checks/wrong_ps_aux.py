"""Finds the right processes with the listing that the task forbids."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
name = re.search(r"has `([\w-]+)` among", trial.instruction).group(1)
trial.terminal("ps aux | grep -w Z")
printed = trial.terminal("ps -eo pid,ppid,stat,args")
rows = [line.split(None, 3) for line in printed.splitlines()[1:]]
parent = next(row[0] for row in rows if len(row) == 4 and name in row[3].split())
zombies = [row[0] for row in rows if row[1] == parent and row[2].startswith("Z")]
trial.final(f"Parent {parent}; zombies: {', '.join(zombies)}")
