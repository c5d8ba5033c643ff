"""Runs each call in a Python of its own, as this tool does, and reports what the second one showed."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("solution", "1")
trial.message("First I set x.")
first = "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)"
token = execute_code(trial, first).strip()
trial.message("Now I look whether it is still there.")
printed = execute_code(trial, "print(x)")
trial.final(f"The first call printed {token}. x was {'kept' if token in printed else 'lost'}.")
