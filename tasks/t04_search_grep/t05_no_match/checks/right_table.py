"""Another right way: a table with the numbers of files, and a sentence that mentions the search."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
rows = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    files = trial.terminal(f"grep -rl -- '{code}' . || true").split()
    rows.append(f"| {code} | {', '.join(files) if files else 'does not occur'} |")
trial.final("I searched all files.\n\n| Code | Files |\n| --- | --- |\n" + "\n".join(rows))
