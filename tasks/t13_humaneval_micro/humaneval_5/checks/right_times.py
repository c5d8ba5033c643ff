"""Another right way: by place, and an example of its use behind it."""

import re

from hemra_protocol import Trial

CODE = """\
def intersperse(numbers: List[int], delimeter: int) -> List[int]:
    def times(total: int) -> int:
        if total % DIVISOR == 0:
            return 0
        return 1 + int(total > LIMIT)

    result: List[int] = []
    for place, number in enumerate(numbers):
        if place:
            result.extend([delimeter] * times(numbers[place - 1] + number))
        result += [number]
    return result
"""

EXAMPLE = "print(intersperse([1, 2, 3], 4))"

trial = Trial("right", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
divisor = re.search(r"multiple of (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit).replace("DIVISOR", divisor)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
