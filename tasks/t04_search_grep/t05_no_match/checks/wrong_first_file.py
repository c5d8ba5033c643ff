"""Wrong: of two files only the first is named."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl {code} . | sort").split()[:1]
    lines.append(f"{code}: {', '.join(files) or 'none'}")
trial.final("\n".join(lines))
