"""Forgets that the upper bound is included."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first, last = re.search(r"from (\d+) to (\d+)", trial.instruction).groups()
left_out = re.search(r"divisible by (\d+)", trial.instruction).group(1)
trial.final(execute_code(trial, f"print(sum(n * n for n in range({first}, {last}) if n % {left_out}))"))
