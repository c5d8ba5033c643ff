"""Wrong: strings of exactly the greatest length are left out."""

import re

from hemra_protocol import Trial

CODE = """\
def filter_by_substring(strings, substring):
    kept = [string for string in strings if len(string) < LENGTH and not string.startswith("PREFIX")]
    return [string for string in kept if substring.FOLD in string.FOLD]
"""

trial = Trial("wrong", "1")
length = re.search(r"more than (\d+) characters", trial.instruction)[1]
prefix = re.search(r"begin with `([^`]+)`", trial.instruction)[1]
fold = ".lower()" if "no difference" in trial.instruction else ""
code = CODE.replace("LENGTH", length).replace("PREFIX", prefix).replace(".FOLD", fold)
trial.final(f"```python\n{code}```")
