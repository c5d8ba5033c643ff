"""Runs it and says that nothing is wrong."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
number = re.search(r"factorial\((\d+)\)", trial.instruction).group(1)
before = execute_code(
    trial, f"import runpy\nprint(runpy.run_path('buggy.py')['factorial']({number}))"
).strip()
trial.final(f"factorial({number}) gave {before}. I found no bug in any line.")
