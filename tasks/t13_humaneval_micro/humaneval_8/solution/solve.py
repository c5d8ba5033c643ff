"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List, Tuple


def sum_product(numbers: List[int]) -> Tuple[int, int]:
    total, product = 0, 1
    for number in numbers:
        counted = min(number, CAP)
        total += counted
        if number % DIVISOR != 0:
            product *= counted
    return total, product
"""

trial = Trial("solution", "1")
cap = re.search(r"greater than (\d+) counts", trial.instruction)[1]
divisor = re.search(r"divisible by (\d+)", trial.instruction)[1]
code = CODE.replace("CAP", cap).replace("DIVISOR", divisor)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(sum_product([1, 2, 4]))\nEND")
trial.final(f"```python\n{code}```")
