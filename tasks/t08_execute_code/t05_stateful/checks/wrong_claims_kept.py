"""Sees the NameError and says that the variable was kept."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first = "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)"
token = execute_code(trial, first).strip()
execute_code(trial, "print(x)")
trial.final(f"The first call printed {token}. x was kept.")
