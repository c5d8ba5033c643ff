"""Wrong: the case was ignored, so that each code seems to occur."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rli {code} .").split()
    lines.append(f"{code}: {', '.join(files) or 'none'}")
trial.final("\n".join(lines))
