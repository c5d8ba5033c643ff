"""Another right way: a helper that yields the groups; an example follows the code."""

import re

from hemra_protocol import Trial

CODE = """\
def _groups(text):
    start = depth = 0
    for end, char in enumerate(text, 1):
        depth += {"(": 1, ")": -1}[char]
        if not depth:
            yield text[start:end]
            start = end


def _levels(group):
    levels = 0
    while group:
        group = "".join(inner[1:-1] for inner in _groups(group))
        levels += 1
    return levels


def separate_paren_groups(paren_string: str) -> List[str]:
    text = "".join(paren_string.split())
    return ["WORD" if _levels(group) > DEPTH else group for group in _groups(text)]
"""

EXAMPLE = "print(separate_paren_groups('( ) (( ))'))"

trial = Trial("right", "1")
depth = re.search(r"more than (\d+) levels", trial.instruction)[1]
word = re.search(r"has the string `([^`]+)`", trial.instruction)[1]
code = CODE.replace("DEPTH", depth).replace("WORD", word)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
