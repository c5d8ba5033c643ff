"""Wrong: the limit itself is left out as well."""

import re

from hemra_protocol import Trial

CODE = """\
def has_close_elements(numbers, threshold):
    kept = sorted(number for number in numbers if abs(number) < LIMIT)
    return any(b - a < threshold for a, b in zip(kept, kept[1:]))
"""

trial = Trial("wrong", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit)
trial.final(f"```python\n{code}```")
