"""Another right way: a program finds them, and the answer is a table."""

import shlex

from hemra_protocol import Trial

trial = Trial("right", "1")
find = r"""
import os, re
for folder, _, names in os.walk("."):
    for name in names:
        for number, line in enumerate(open(os.path.join(folder, name)), 1):
            if re.search(r"\bTODO\b", line):
                print(os.path.join(folder, name), number, line.strip(), sep="|")
"""
printed = trial.terminal(f"python3 -c {shlex.quote(find)}")
rows = [f"| {line.replace('|', ' | ')} |" for line in printed.splitlines()]
trial.final("| file | line | text |\n|---|---|---|\n" + "\n".join(rows))
