"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List

LEVELS = {"(": 1, "[": SQUARE, "{": CURLY, ")": -1, "]": -SQUARE, "}": -CURLY}


def parse_nested_parens(paren_string: str) -> List[int]:
    def deepest(group: str) -> int:
        now = most = 0
        for char in group:
            now += LEVELS[char]
            most = max(most, now)
        return most

    return [deepest(group) for group in paren_string.split()]
"""

trial = Trial("solution", "1")
square, curly = re.search(r"`\[\]` for (\d+) levels and a pair `{}` for (\d+)", trial.instruction).groups()
code = CODE.replace("SQUARE", square).replace("CURLY", curly)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(parse_nested_parens('(()()) () ((()))'))\nEND")
trial.final(f"```python\n{code}```")
