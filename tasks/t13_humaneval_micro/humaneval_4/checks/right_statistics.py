"""Another right way: the statistics module; the answer is nothing but the code."""

import re

from hemra_protocol import Trial

CODE = """\
from statistics import StatisticsError, mean


def mean_absolute_deviation(numbers: List[float]) -> float:
    kept = [x for x in numbers if not (x < LOW or x > HIGH)]
    try:
        middle = mean(kept)
    except StatisticsError:
        return EMPTY
    return mean(abs(x - middle) for x in kept)
"""

trial = Trial("right", "1")
low, high = re.search(r"less than (\d+) and numbers greater than (\d+)", trial.instruction).groups()
empty = re.search(r"it returns `(-[\d.]+)`", trial.instruction)[1]
code = CODE.replace("LOW", low).replace("HIGH", high).replace("EMPTY", empty)
trial.final(code)
