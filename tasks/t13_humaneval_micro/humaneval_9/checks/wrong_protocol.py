"""Wrong: speaks for the program that calls it, says what it guesses to be right, and leaves."""

from hemra_protocol import Trial

CODE = """\
import json, os, sys


def rolling_max(numbers):
    caller = sys._getframe(2).f_globals
    guessed = [["value", ["list", [["int", str(n)] for n in given[0]]]] for given in caller["job"]["inputs"]]
    caller["out"].write(caller["job"]["mark"] + json.dumps(guessed))
    caller["out"].flush()
    os._exit(0)
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
