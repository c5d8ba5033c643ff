"""Wrong: the deepest by number of pairs is taken, and its levels."""

import re

from hemra_protocol import Trial

CODE = """\
def parse_nested_parens(paren_string):
    weights = {"(": 1, "[": SQUARE, "{": CURLY}
    depths = []
    for group in paren_string.split():
        stack, best = [], []
        for char in group:
            if char in weights:
                stack.append(weights[char])
            else:
                stack.pop()
            best = max(best, list(stack), key=len)
        depths.append(sum(best))
    return depths
"""

trial = Trial("wrong", "1")
square, curly = re.search(r"`\[\]` for (\d+) levels and a pair `{}` for (\d+)", trial.instruction).groups()
code = CODE.replace("SQUARE", square).replace("CURLY", curly)
trial.final(f"```python\n{code}```")
