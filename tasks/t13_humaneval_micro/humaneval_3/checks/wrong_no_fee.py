"""Wrong: the fee is forgotten."""

import re

from hemra_protocol import Trial

CODE = """\
def below_zero(operations):
    balance = START
    for amount in operations:
        balance += amount
        if balance < -OVERDRAFT:
            return True
    return False
"""

trial = Trial("wrong", "1")
start = re.search(r"balance of (\d+)", trial.instruction)[1]
fee = re.search(r"a fee of\s+(\d+)", trial.instruction)[1]
overdraft = re.search(r"overdrawn by (\d+)", trial.instruction)[1]
code = CODE.replace("START", start).replace("FEE", fee).replace("OVERDRAFT", overdraft)
trial.final(f"```python\n{code}```")
