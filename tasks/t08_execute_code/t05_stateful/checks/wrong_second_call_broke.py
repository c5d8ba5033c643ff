"""The second call was refused for a reason of its own, which tells nothing; the answer guesses right."""

from hemra_protocol import Trial
from hemra_tools import execute_code

trial = Trial("wrong", "1")
first = "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)"
token = execute_code(trial, first).strip()
trial.result(trial.call("execute_code", {"code": "print(x)"}), False, "error: the tool timed out")
trial.final(f"{token}: lost")
