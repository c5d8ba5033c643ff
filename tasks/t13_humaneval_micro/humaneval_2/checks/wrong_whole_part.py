"""Wrong: the whole part is returned."""

import re

from hemra_protocol import Trial

CODE = """\
def truncate_number(number):
    if number > LIMIT:
        return OVERFLOW
    if number < 0:
        NEGATIVE
    return float(int(number))
"""

trial = Trial("wrong", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
overflow = re.search(r"returns `(-[\d.]+)`", trial.instruction)[1]
negative = "return -(-number % 1.0)"
if "ValueError" in trial.instruction:
    negative = "raise ValueError('negative')"
elif "what is missing" in trial.instruction:
    negative = "return -number % 1.0"
code = CODE.replace("LIMIT", limit).replace("OVERFLOW", overflow).replace("NEGATIVE", negative)
trial.final(f"```python\n{code}```")
