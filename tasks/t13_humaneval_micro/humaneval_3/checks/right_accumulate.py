"""Another right way: itertools.accumulate; an example follows the code."""

import re

from hemra_protocol import Trial

CODE = """\
from itertools import accumulate


def below_zero(operations: List[int]) -> bool:
    changes = (amount - FEE if amount < 0 else amount for amount in operations)
    return min(accumulate(changes, initial=START)) < -OVERDRAFT
"""

EXAMPLE = "print(below_zero([]))"

trial = Trial("right", "1")
start = re.search(r"balance of (\d+)", trial.instruction)[1]
fee = re.search(r"a fee of\s+(\d+)", trial.instruction)[1]
overdraft = re.search(r"overdrawn by (\d+)", trial.instruction)[1]
code = CODE.replace("START", start).replace("FEE", fee).replace("OVERDRAFT", overdraft)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
