"""Does both in one call and never looks from a second one."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first = (
    "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)\nprint(x)"
)
token = execute_code(trial, first).split()[0]
trial.final(f"{token}: lost")
