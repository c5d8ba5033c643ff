"""Writes the function from what the instruction says, and tries it."""

import re

from hemra_protocol import Trial

CODE = """\
from typing import List


def filter_by_substring(strings: List[str], substring: str) -> List[str]:
    result = []
    for string in strings:
        if len(string) > LENGTH or string.startswith("PREFIX"):
            continue
        if substring.FOLD in string.FOLD:
            result.append(string)
    return result
"""

trial = Trial("solution", "1")
length = re.search(r"more than (\d+) characters", trial.instruction)[1]
prefix = re.search(r"begin with `([^`]+)`", trial.instruction)[1]
fold = ".lower()" if "no difference" in trial.instruction else ""
code = CODE.replace("LENGTH", length).replace("PREFIX", prefix).replace(".FOLD", fold)
trial.message("I write it and try the first example.")
trial.terminal(f"python3 - <<'END'\n{code}\nprint(filter_by_substring(['abc', 'bcd', 'cab'], 'ab'))\nEND")
trial.final(f"```python\n{code}```")
