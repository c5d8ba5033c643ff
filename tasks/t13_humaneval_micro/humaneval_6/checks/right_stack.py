"""Another right way: a stack of what is open; the fence is of the other kind."""

import re

from hemra_protocol import Trial

CODE = """\
def parse_nested_parens(paren_string):
    weights = dict(zip("([{", (1, SQUARE, CURLY)))
    depths = []
    for group in paren_string.split(" "):
        if not group:
            continue
        stack, sums = [], []
        for bracket in group:
            if bracket in weights:
                stack.append(weights[bracket])
            else:
                stack.pop()
            sums.append(sum(stack))
        depths.append(max(sums))
    return depths
"""

trial = Trial("right", "1")
square, curly = re.search(r"`\[\]` for (\d+) levels and a pair `{}` for (\d+)", trial.instruction).groups()
code = CODE.replace("SQUARE", square).replace("CURLY", curly)
trial.final(f"~~~py\n{code}~~~\n")
