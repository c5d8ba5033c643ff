"""Names the line before the one that py_compile names."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
verdicts = []
for name in ("add.py", "scale.py"):
    printed = trial.terminal(f'python3 -m py_compile {name}; echo "exit code $?"')
    found = re.search(r"line (\d+)", printed)
    verdicts.append(f"{name}: broken at line {int(found.group(1)) - 1}" if found else f"{name}: clean")
trial.final("\n".join(verdicts))
