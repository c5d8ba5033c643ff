"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
def truncate_number(number: float) -> float:
    if number > LIMIT:
        return OVERFLOW
    if number < 0:
        NEGATIVE
    return number % 1.0
"""

trial = Trial("solution", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
overflow = re.search(r"returns `(-[\d.]+)`", trial.instruction)[1]
negative = "return -(-number % 1.0)"
if "ValueError" in trial.instruction:
    negative = "raise ValueError('negative')"
elif "what is missing" in trial.instruction:
    negative = "return -number % 1.0"
code = CODE.replace("LIMIT", limit).replace("OVERFLOW", overflow).replace("NEGATIVE", negative)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(truncate_number(3.25))\nEND")
trial.final(f"```python\n{code}```")
