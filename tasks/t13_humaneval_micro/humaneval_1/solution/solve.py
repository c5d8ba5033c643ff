"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def separate_paren_groups(paren_string: str) -> List[str]:
    groups: List[str] = []
    group = ""
    depth = deepest = 0
    for char in paren_string:
        if char == " ":
            continue
        group += char
        depth += 1 if char == "(" else -1
        deepest = max(deepest, depth)
        if depth == 0:
            groups.append("WORD" if deepest > DEPTH else group)
            group, deepest = "", 0
    return groups
"""

trial = Trial("solution", "1")
depth = re.search(r"more than (\d+) levels", trial.instruction)[1]
word = re.search(r"has the string `([^`]+)`", trial.instruction)[1]
code = CODE.replace("DEPTH", depth).replace("WORD", word)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(separate_paren_groups('( ) (( ))'))\nEND")
trial.final(f"```python\n{code}```")
