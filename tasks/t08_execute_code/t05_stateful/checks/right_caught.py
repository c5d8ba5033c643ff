"""Catches the error in the second call, so that it does not fail, and says it in other words."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("right", "1")
first = "import sys\nsys.path.insert(0, '.')\nimport token_source\nx = token_source.draw()\nprint(x)"
token = execute_code(trial, first).strip()
printed = execute_code(
    trial, "try:\n    print('x =', x)\nexcept NameError as error:\n    print('NameError:', error)"
)
state = "kept" if token in printed else "lost: the state does not persist between calls"
trial.final(f"Value: {token}\n\nVerdict: {state}.")
