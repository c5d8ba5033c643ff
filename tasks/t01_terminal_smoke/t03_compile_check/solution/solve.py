"""Runs py_compile on both files and reports exit codes and line as it printed them."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
verdicts = []
for name in ("add.py", "scale.py"):
    trial.message(f"I check {name}.")
    printed = trial.terminal(f'python3 -m py_compile {name}; echo "exit code $?"')
    if printed.rstrip().endswith("exit code 0"):
        verdicts.append(f"{name}: clean")
    else:
        line = re.search(r"line (\d+)", printed).group(1)
        verdicts.append(f"{name}: broken at line {line}")
trial.final("\n".join(verdicts))
