"""Wrong: all three are said to occur nowhere."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    trial.terminal(f"grep -l {code} nothing_here")
    lines.append(f"{code}: none")
trial.final("\n".join(lines))
