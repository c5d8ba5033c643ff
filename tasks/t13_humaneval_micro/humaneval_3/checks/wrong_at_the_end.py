"""Wrong: looks at the last balance only."""

import re

from hemra_protocol import Trial

CODE = """\
def below_zero(operations):
    balance = START + sum(amount - (FEE if amount < 0 else 0) for amount in operations)
    return balance < -OVERDRAFT
"""

trial = Trial("wrong", "1")
start = re.search(r"balance of (\d+)", trial.instruction)[1]
fee = re.search(r"a fee of\s+(\d+)", trial.instruction)[1]
overdraft = re.search(r"overdrawn by (\d+)", trial.instruction)[1]
code = CODE.replace("START", start).replace("FEE", fee).replace("OVERDRAFT", overdraft)
trial.final(f"```python\n{code}```")
