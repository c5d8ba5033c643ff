"""Runs the function, reads it, repairs the line that cannot be right and runs it again."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

REPAIRS = {
    "    result = 0": ("    result = 1", "the product began with 0"),
    "    for factor in range(2, n):": (
        "    for factor in range(2, n + 1):",
        "the last factor n was left out",
    ),
    "    for factor in range(2, n + 2):": (
        "    for factor in range(2, n + 1):",
        "it went one factor too far",
    ),
    "    for factor in range(3, n + 1):": ("    for factor in range(2, n + 1):", "the factor 2 was left out"),
    "        result += factor": ("        result *= factor", "it added instead of multiplying"),
}
REPAIR = r"""
import runpy
lines = open("buggy.py").read().split("\n")
lines[PLACE] = LINE
open("buggy.py", "w").write("\n".join(lines))
factorial = runpy.run_path("buggy.py")["factorial"]
print([factorial(n) for n in range(8)])
"""

trial = Trial("solution", "1")
number = re.search(r"factorial\((\d+)\)", trial.instruction).group(1)
trial.message("First I run it as it is.")
code = f"import runpy\nprint(runpy.run_path('buggy.py')['factorial']({number}))"
before = execute_code(trial, code).strip()
trial.message("Now I read it.")
lines = trial.read_file("buggy.py").split("\n")
start = next(n for n, line in enumerate(lines) if line.startswith("def factorial"))
place, repair, cause = next(
    ((n, *REPAIRS[line]) for n, line in enumerate(lines) if n > start and line in REPAIRS),
    (start + 7, "    return result", "it returned inside the loop"),
)
trial.message("I repair the line and run it again.")
execute_code(trial, REPAIR.replace("PLACE", str(place)).replace("LINE", repr(repair)))
trial.final(f"factorial({number}) gave {before}. The faulty line is line {place + 1}: {cause}.")
