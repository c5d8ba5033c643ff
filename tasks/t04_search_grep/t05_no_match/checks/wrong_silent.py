"""Wrong: nothing is said of the code that does not occur."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl {code} .").split()
    if files:
        lines.append(f"{code}: {', '.join(files)}")
trial.final("\n".join(lines))
