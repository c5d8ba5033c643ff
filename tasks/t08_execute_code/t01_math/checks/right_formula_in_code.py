"""Computes it from the closed formula, less the multiples, and writes the number in groups."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("right", "1")
first, last = re.search(r"from (\d+) to (\d+)", trial.instruction).groups()
left_out = re.search(r"divisible by (\d+)", trial.instruction).group(1)
printed = execute_code(
    trial,
    "def squares(n):\n    return n * (n + 1) * (2 * n + 1) // 6\n"
    f"a, b, d = {first}, {last}, {left_out}\n"
    "total = squares(b) - squares(a - 1) - d * d * (squares(b // d) - squares((a - 1) // d))\n"
    "print(f'{total:,}')\n",
)
trial.final(f"**{printed.strip()}**")
