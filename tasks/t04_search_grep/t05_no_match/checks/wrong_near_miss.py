"""Wrong: for the code that does not occur, the file of a near miss is named."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl {code} .").split()
    files = files or trial.terminal(f"grep -rl {code[:-1]} .").split()
    lines.append(f"{code}: {', '.join(files) or 'none'}")
trial.final("\n".join(lines))
