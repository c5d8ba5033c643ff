"""Wrong: the two weights are exchanged."""

import re

from hemra_protocol import Trial

CODE = """\
def parse_nested_parens(paren_string):
    weights = {"(": 1, "{": SQUARE, "[": CURLY, ")": -1, "}": -SQUARE, "]": -CURLY}
    depths = []
    for group in paren_string.split():
        now = most = 0
        for char in group:
            now += weights[char]
            most = max(most, now)
        depths.append(most)
    return depths
"""

trial = Trial("wrong", "1")
square, curly = re.search(r"`\[\]` for (\d+) levels and a pair `{}` for (\d+)", trial.instruction).groups()
code = CODE.replace("SQUARE", square).replace("CURLY", curly)
trial.final(f"```python\n{code}```")
