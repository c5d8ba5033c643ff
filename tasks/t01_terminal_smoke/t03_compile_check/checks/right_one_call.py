"""Checks both files with one command and answers in a table."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("for f in add.py scale.py; do python3 -m py_compile $f && echo $f fine; done; true")
rows = []
for name in ("add.py", "scale.py"):
    broken = f"{name} fine" not in printed
    line = re.search(r"line (\d+)", printed).group(1)
    rows.append(f"| {name} | " + (f"SyntaxError at line {line} |" if broken else "compiles cleanly |"))
trial.final("\n".join(rows))
