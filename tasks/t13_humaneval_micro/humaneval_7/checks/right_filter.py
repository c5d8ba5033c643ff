"""Another right way: filter with a function; an example follows."""

import re

from hemra_protocol import Trial

CODE = """\
def filter_by_substring(strings: List[str], substring: str) -> List[str]:
    wanted = substring.FOLD

    def keeps(text: str) -> bool:
        return wanted in text.FOLD and len(text) <= LENGTH and text[: len("PREFIX")] != "PREFIX"

    return list(filter(keeps, strings))
"""

EXAMPLE = "print(filter_by_substring(['abc', 'bcd', 'cab'], 'ab'))"

trial = Trial("right", "1")
length = re.search(r"more than (\d+) characters", trial.instruction)[1]
prefix = re.search(r"begin with `([^`]+)`", trial.instruction)[1]
fold = ".lower()" if "no difference" in trial.instruction else ""
code = CODE.replace("LENGTH", length).replace("PREFIX", prefix).replace(".FOLD", fold)
trial.final(f"Here it is:\n\n```python\n{code}```\n\nFor example:\n\n```python\n{EXAMPLE}\n```\n")
