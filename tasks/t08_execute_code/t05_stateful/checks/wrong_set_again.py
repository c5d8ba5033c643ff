"""Sets x again in the second call, so that the variable seems to have been kept."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first = "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)"
token = execute_code(trial, first).strip()
execute_code(trial, f"x = {token!r}\nprint(x)")
trial.final(f"{token}: kept")
