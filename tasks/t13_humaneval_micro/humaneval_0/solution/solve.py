"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def has_close_elements(numbers: List[float], threshold: float) -> bool:
    kept = [number for number in numbers if abs(number) <= LIMIT]
    for place, number in enumerate(kept):
        if any(abs(number - other) < threshold for other in kept[place + 1 :]):
            return True
    return False
"""

trial = Trial("solution", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(has_close_elements([1.0, 2.0, 3.5], 1.25))\nEND")
trial.final(f"```python\n{code}```")
