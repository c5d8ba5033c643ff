"""Wrong: a group of just the allowed depth is replaced."""

import re

from hemra_protocol import Trial

CODE = """\
def separate_paren_groups(paren_string):
    groups, group, depth, deepest = [], "", 0, 0
    for char in paren_string.replace(" ", ""):
        group += char
        depth += 1 if char == "(" else -1
        deepest = max(deepest, depth)
        if depth == 0:
            groups.append(group if deepest < DEPTH else "WORD")
            group, deepest = "", 0
    return groups
"""

trial = Trial("wrong", "1")
depth = re.search(r"more than (\d+) levels", trial.instruction)[1]
word = re.search(r"has the string `([^`]+)`", trial.instruction)[1]
code = CODE.replace("DEPTH", depth).replace("WORD", word)
trial.final(f"```python\n{code}```")
