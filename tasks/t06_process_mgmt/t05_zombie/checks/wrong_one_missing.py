"""Reports only the first of the zombies."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
name = re.search(r"has `([\w-]+)` among", trial.instruction).group(1)
printed = trial.terminal("ps -eo pid,ppid,stat,args")
rows = [line.split(None, 3) for line in printed.splitlines()[1:]]
parent = next(row[0] for row in rows if len(row) == 4 and name in row[3].split())
zombies = [row[0] for row in rows if row[1] == parent and row[2].startswith("Z")]
trial.final(f"Parent {parent}; zombie: {zombies[0]}")
