"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def below_zero(operations: List[int]) -> bool:
    balance = START
    for amount in operations:
        balance += amount
        if amount < 0:
            balance -= FEE
        if balance < -OVERDRAFT:
            return True
    return False
"""

trial = Trial("solution", "1")
start = re.search(r"balance of (\d+)", trial.instruction)[1]
fee = re.search(r"a fee of\s+(\d+)", trial.instruction)[1]
overdraft = re.search(r"overdrawn by (\d+)", trial.instruction)[1]
code = CODE.replace("START", start).replace("FEE", fee).replace("OVERDRAFT", overdraft)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(below_zero([]))\nEND")
trial.final(f"```python\n{code}```")
