"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List, Optional


def rolling_max(numbers: List[int]) -> List[int]:
    result: List[int] = []
    most: Optional[int] = None
    for number in numbers:
        if number == RESET:
            most = RESET
        elif number <= LIMIT and (most is None or number > most):
            most = number
        result.append(NOTHING if most is None else most)
    return result
"""

trial = Trial("solution", "1")
reset = re.search(r"number (\d+) starts over", trial.instruction)[1]
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
nothing = re.search(r"or `(-\d+)` where", trial.instruction)[1]
code = CODE.replace("RESET", reset).replace("LIMIT", limit).replace("NOTHING", nothing)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(rolling_max([1, 3, 2, 4]))\nEND")
trial.final(f"```python\n{code}```")
