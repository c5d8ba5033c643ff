"""Wrong: divides by the number of all readings, faulty ones included."""

import re

from hemra_protocol import Trial

CODE = """\
def mean_absolute_deviation(numbers):
    kept = [number for number in numbers if LOW <= number <= HIGH]
    if not kept:
        return EMPTY
    mean = sum(kept) / len(kept)
    return sum(abs(number - mean) for number in kept) / len(numbers)
"""

trial = Trial("wrong", "1")
low, high = re.search(r"less than (\d+) and numbers greater than (\d+)", trial.instruction).groups()
empty = re.search(r"it returns `(-[\d.]+)`", trial.instruction)[1]
code = CODE.replace("LOW", low).replace("HIGH", high).replace("EMPTY", empty)
trial.final(f"```python\n{code}```")
