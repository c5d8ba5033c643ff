"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def mean_absolute_deviation(numbers: List[float]) -> float:
    kept = [number for number in numbers if LOW <= number <= HIGH]
    if not kept:
        return EMPTY
    mean = sum(kept) / len(kept)
    return sum(abs(number - mean) for number in kept) / len(kept)
"""

trial = Trial("solution", "1")
low, high = re.search(r"less than (\d+) and numbers greater than (\d+)", trial.instruction).groups()
empty = re.search(r"it returns `(-[\d.]+)`", trial.instruction)[1]
code = CODE.replace("LOW", low).replace("HIGH", high).replace("EMPTY", empty)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(mean_absolute_deviation([]))\nEND")
trial.final(f"```python\n{code}```")
