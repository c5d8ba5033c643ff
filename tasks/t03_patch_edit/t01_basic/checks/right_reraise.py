"""Another right way: the terminal, and the error that Python raises anyway turned into the other one."""

import re
import shlex

from hemra_protocol import Trial

EDIT = """
import pathlib, sys
path = pathlib.Path("broken_divide.py")
old = "    return a / b * FACTOR"
new = f'''    try:
        return a / b * FACTOR
    except ZeroDivisionError:
        raise ValueError({sys.argv[1]!r}) from None'''
path.write_text(path.read_text().replace(old, new))
"""

trial = Trial("right", "1")
message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I edit it from the terminal.")
trial.terminal(f"python3 -c {shlex.quote(EDIT)} {shlex.quote(message)}")
trial.final("Done.")
