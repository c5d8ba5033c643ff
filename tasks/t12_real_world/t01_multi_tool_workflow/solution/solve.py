"""Reads the module, compares every function with its docstring, and patches the two that differ."""

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")


#: name -> the body that does what the docstring says.
RIGHT = {
    "add_all": "    return sum(numbers)\n",
    "add_bonus": "    return points + BONUS if points >= THRESHOLD else points\n",
    "add_minutes": "    passed = hour * 60 + minute + more\n    return passed // 60 % 24, passed % 60\n",
    "add_percent": "    return amount + amount * percent / 100\n",
    "add_capped": "    return min(max(a + b, -CAP), CAP)\n",
    "add_running": "    return [sum(numbers[: end + 1]) for end in range(len(numbers))]\n",
}
TRY = """
from add import *
import add
print(add_all([1, 2, 3]) == 6 and add_all([]) == 0, "add_all")
print((add_bonus(add.THRESHOLD), add_bonus(1)) == (add.THRESHOLD + add.BONUS, 1), "add_bonus")
print((add_minutes(23, 59, 2), add_minutes(1, 2, 3)) == ((0, 1), (1, 5)), "add_minutes")
print(add_percent(50, 10) == 55, "add_percent")
print((add_capped(add.CAP, 1), add_capped(-add.CAP, -1), add_capped(1, 2)) == (add.CAP, -add.CAP, 3), "add_capped")
print(add_running([1, 2, 3]) == [1, 3, 6], "add_running")
"""

trial.message("I read the module.")
source = trial.read_file("add.py")
trial.message("I try every function as its docstring says.")
tried = trial.terminal(f"python3 -B - <<'END'\n{TRY}\nEND")
mended = [line.split()[1] for line in tried.splitlines() if line.startswith("False")]
for name in mended:
    trial.message(f"{name} is wrong. I mend it.")
    function = source[source.index(f"def {name}(") :].partition("\n\n\n")[0].rstrip("\n") + "\n"
    head, docstring, body = function.partition('."""\n')
    patch(trial, "add.py", function, f"{head}{docstring}{RIGHT[name]}")
trial.message("I try again.")
trial.terminal(f"python3 -B - <<'END'\n{TRY}\nEND")
trial.final(f"I mended `{mended[0]}` and `{mended[1]}`.")
