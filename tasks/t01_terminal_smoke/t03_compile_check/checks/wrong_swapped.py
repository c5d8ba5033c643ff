"""Takes one file for the other."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
verdicts = {}
for name in ("add.py", "scale.py"):
    printed = trial.terminal(f'python3 -m py_compile {name}; echo "exit code $?"')
    found = re.search(r"line (\d+)", printed)
    verdicts[name] = f"broken at line {found.group(1)}" if found else "clean"
trial.final(f"add.py: {verdicts['scale.py']}\nscale.py: {verdicts['add.py']}")
