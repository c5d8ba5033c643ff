"""Another right way: sum and math.prod; an example follows."""

import re

from hemra_protocol import Trial

CODE = """\
import math


def sum_product(numbers: List[int]) -> Tuple[int, int]:
    capped = [CAP if number > CAP else number for number in numbers]
    factors = [small for small, number in zip(capped, numbers) if number % DIVISOR]
    return (sum(capped), math.prod(factors))
"""

EXAMPLE = "print(sum_product([1, 2, 4]))"

trial = Trial("right", "1")
cap = re.search(r"greater than (\d+) counts", trial.instruction)[1]
divisor = re.search(r"divisible by (\d+)", trial.instruction)[1]
code = CODE.replace("CAP", cap).replace("DIVISOR", divisor)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
