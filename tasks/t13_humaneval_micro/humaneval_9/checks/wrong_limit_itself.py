"""Wrong: the limit itself is an outlier."""

import re

from hemra_protocol import Trial

CODE = """\
def rolling_max(numbers):
    result, most = [], None
    for number in numbers:
        if number == RESET:
            most = number
        elif number < LIMIT:
            most = number if most is None else max(most, number)
        result.append(NOTHING if most is None else most)
    return result
"""

trial = Trial("wrong", "1")
reset = re.search(r"number (\d+) starts over", trial.instruction)[1]
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
nothing = re.search(r"or `(-\d+)` where", trial.instruction)[1]
code = CODE.replace("RESET", reset).replace("LIMIT", limit).replace("NOTHING", nothing)
trial.final(f"```python\n{code}```")
