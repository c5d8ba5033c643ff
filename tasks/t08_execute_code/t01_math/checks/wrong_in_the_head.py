"""Knows the right number without code: its one call printed something else."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first, last = map(int, re.search(r"from (\d+) to (\d+)", trial.instruction).groups())
left_out = int(re.search(r"divisible by (\d+)", trial.instruction).group(1))
execute_code(trial, "print('computing')")
trial.final(str(sum(n * n for n in range(first, last + 1) if n % left_out)))
