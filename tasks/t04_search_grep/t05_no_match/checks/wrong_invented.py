"""Wrong: a file that does not exist is named for the code that does not occur."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl {code} .").split()
    lines.append(f"{code}: {', '.join(files) or 'notes/summary.txt'}")
trial.final("\n".join(lines))
