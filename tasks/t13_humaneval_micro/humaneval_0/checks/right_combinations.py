"""Another right way: itertools, and the answer is nothing but the code."""

import re

from hemra_protocol import Trial

CODE = """\
from itertools import combinations


def has_close_elements(numbers, threshold):
    \"\"\"Whether two numbers are closer than threshold.\"\"\"
    return any(
        abs(a - b) < threshold for a, b in combinations(numbers, 2) if abs(a) <= LIMIT and abs(b) <= LIMIT
    )
"""

trial = Trial("right", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit)
trial.final(code)
