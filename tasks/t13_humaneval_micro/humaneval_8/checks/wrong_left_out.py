"""Wrong: numbers above the cap are left out."""

import re

from hemra_protocol import Trial

CODE = """\
def sum_product(numbers):
    total, product = 0, 1
    for number in numbers:
        if number <= CAP:
            total += number
            product *= number if number % DIVISOR else 1
    return total, product
"""

trial = Trial("wrong", "1")
cap = re.search(r"greater than (\d+) counts", trial.instruction)[1]
divisor = re.search(r"divisible by (\d+)", trial.instruction)[1]
code = CODE.replace("CAP", cap).replace("DIVISOR", divisor)
trial.final(f"```python\n{code}```")
