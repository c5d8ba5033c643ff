"""Another right way: sorted; the import for the annotation is left out and an example follows."""

import re

from hemra_protocol import Trial

CODE = """\
def has_close_elements(numbers: List[float], threshold: float) -> bool:
    kept = sorted(filter(lambda number: -LIMIT <= number <= LIMIT, numbers))
    return any(b - a < threshold for a, b in zip(kept, kept[1:]))
"""

EXAMPLE = "print(has_close_elements([1.0, 2.0, 3.5], 1.25))"

trial = Trial("right", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
code = CODE.replace("LIMIT", limit)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
