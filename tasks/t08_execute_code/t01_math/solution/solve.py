"""Computes the sum with a generator expression."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("solution", "1")
first, last = re.search(r"from (\d+) to (\d+)", trial.instruction).groups()
left_out = re.search(r"divisible by (\d+)", trial.instruction).group(1)
trial.message("I let code compute it.")
printed = execute_code(trial, f"print(sum(n * n for n in range({first}, {last} + 1) if n % {left_out}))")
trial.final(f"The sum is {printed.strip()}.")
