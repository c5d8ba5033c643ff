"""Wrong: the files of the codes are mixed up."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    lines.append(code)
found = [trial.terminal(f"grep -rl {code} .").split() for code in lines]
lines = [
    f"{code}: {', '.join(files) or 'none'}" for code, files in zip(lines, found[1:] + found[:1], strict=True)
]
trial.final("\n".join(lines))
