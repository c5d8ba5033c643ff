"""Wrong: one more at the end."""

import re

from hemra_protocol import Trial

CODE = """\
def intersperse(numbers, delimeter):
    result = []
    for left, right in zip(numbers, [*numbers[1:], 1]):
        total = left + right
        times = 0 if total % DIVISOR == 0 else 2 if total > LIMIT else 1
        result += [left] + [delimeter] * times
    return result
"""

trial = Trial("wrong", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
divisor = re.search(r"multiple of (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit).replace("DIVISOR", divisor)
trial.final(f"```python\n{code}```")
