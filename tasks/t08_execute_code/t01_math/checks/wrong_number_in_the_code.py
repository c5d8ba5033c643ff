"""Works the number out elsewhere and lets the code print it as it is."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first, last = map(int, re.search(r"from (\d+) to (\d+)", trial.instruction).groups())
left_out = int(re.search(r"divisible by (\d+)", trial.instruction).group(1))
total = sum(n * n for n in range(first, last + 1) if n % left_out)
trial.final(execute_code(trial, f"print({total:_})"))
