"""Wrong: the line that says none names the file of a near miss too."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl {code} .").split()
    close = trial.terminal(f"grep -rl {code[:-1]} .").split()
    lines.append(f"{code}: {', '.join(files) or 'none, did you mean the one in ' + close[0] + '?'}")
trial.final("\n".join(lines))
