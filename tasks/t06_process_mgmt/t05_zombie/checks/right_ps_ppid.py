"""Looks for the parent with pgrep, then lists its children alone."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
name = re.search(r"has `([\w-]+)` among", trial.instruction).group(1)
parent = trial.terminal(f"pgrep -f -- '- {name} '").split()[0]
printed = trial.terminal(f"ps -o pid=,stat= --ppid {parent}")
zombies = [line.split()[0] for line in printed.splitlines() if line.split()[1].startswith("Z")]
trial.final(f"parent {parent}, zombies: {' '.join(zombies)}")
