"""Another right way: the maximum of what counts, from the last new start on; an example follows."""

import re

from hemra_protocol import Trial

CODE = """\
def rolling_max(numbers: List[int]) -> List[int]:
    result = []
    start = 0
    for end, number in enumerate(numbers, 1):
        if number == RESET:
            start = end - 1
        result.append(max((n for n in numbers[start:end] if n <= LIMIT), default=NOTHING))
    return result
"""

EXAMPLE = "print(rolling_max([1, 3, 2, 4]))"

trial = Trial("right", "1")
reset = re.search(r"number (\d+) starts over", trial.instruction)[1]
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
nothing = re.search(r"or `(-\d+)` where", trial.instruction)[1]
code = CODE.replace("RESET", reset).replace("LIMIT", limit).replace("NOTHING", nothing)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
