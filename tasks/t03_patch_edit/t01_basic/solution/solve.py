"""Reads the module, patches the guard into divide, and runs it."""

import re

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I read the module.")
trial.read_file("broken_divide.py")
trial.message("I put the guard in front of the division.")
patch(
    trial,
    "broken_divide.py",
    "    return a / b * FACTOR\n",
    f'    if b == 0:\n        raise ValueError("{message}")\n    return a / b * FACTOR\n',
)
trial.message("I try it.")
trial.terminal("python3 -B -c 'import broken_divide; broken_divide.divide(1, 0.0)' 2>&1 | tail -n 1")
trial.final("divide now raises a ValueError when b is zero.")
