"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def intersperse(numbers: List[int], delimeter: int) -> List[int]:
    result = numbers[:1]
    for left, right in zip(numbers, numbers[1:]):
        total = left + right
        if total % DIVISOR:
            result.append(delimeter)
            if total > LIMIT:
                result.append(delimeter)
        result.append(right)
    return result
"""

trial = Trial("solution", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
divisor = re.search(r"multiple of (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit).replace("DIVISOR", divisor)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(intersperse([1, 2, 3], 4))\nEND")
trial.final(f"```python\n{code}```")
