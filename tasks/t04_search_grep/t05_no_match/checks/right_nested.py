"""Another right way: a search each in the terminal, which fails where there is nothing; a nested list."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rlF {code}").splitlines()
    lines += [f"### `{code}`", "", *(f"- {path}" for path in files or ["No matches found"]), ""]
trial.final("\n".join(lines))
