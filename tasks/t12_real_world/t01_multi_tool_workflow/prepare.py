"""Draws which two of six functions have which bug, and the constants of the module."""

import pathlib
import random

#: name -> the function as it should be, and pieces of it that a bug replaces.
FUNCTIONS = {
    "add_all": (
        """
def add_all(numbers):
    \"\"\"The sum of all numbers of the list; 0 for an empty one.\"\"\"
    total = 0
    for number in numbers:
        total += number
    return total
""",
        [("total = 0", "total = 1"), ("in numbers:", "in numbers[1:]:")],
    ),
    "add_bonus": (
        """
def add_bonus(points):
    \"\"\"The points, and BONUS besides if they are at least THRESHOLD.\"\"\"
    if points >= THRESHOLD:
        return points + BONUS
    return points
""",
        [("points >= THRESHOLD", "points > THRESHOLD"), ("points + BONUS", "points * BONUS")],
    ),
    "add_minutes": (
        """
def add_minutes(hour, minute, more):
    \"\"\"The time of day, as (hour, minute), that is `more` minutes after hour:minute; 0:00 follows 23:59.\"\"\"
    passed = hour * 60 + minute + more
    return passed // 60 % 24, passed % 60
""",
        [("passed // 60 % 24", "passed // 60"), ("+ minute + more", "+ more")],
    ),
    "add_percent": (
        """
def add_percent(amount, percent):
    \"\"\"The amount with so many percent of it added; 10 percent added to 50 is 55.\"\"\"
    return amount + amount * percent / 100
""",
        [("amount * percent / 100", "percent"), ("/ 100", "/ 10")],
    ),
    "add_capped": (
        """
def add_capped(a, b):
    \"\"\"The sum of a and b, but never more than CAP and never less than -CAP.\"\"\"
    return max(-CAP, min(CAP, a + b))
""",
        [("max(-CAP, min(CAP, a + b))", "min(CAP, a + b)"), ("max(-CAP, min(CAP,", "max(CAP, min(-CAP,")],
    ),
    "add_running": (
        """
def add_running(numbers):
    \"\"\"A list with, for each number, the sum of it and all before it.\"\"\"
    totals, total = [], 0
    for number in numbers:
        total += number
        totals.append(total)
    return totals
""",
        [
            ("totals.append(total)", "totals.append(number)"),
            ("totals, total = [], 0", "totals, total = [0], 0"),
        ],
    ),
}


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py."""
    rng = random.Random(f"t12_multi_tool:{seed}")
    constants = {
        "BONUS": rng.randrange(3, 90),
        "THRESHOLD": rng.randrange(100, 900),
        "CAP": rng.randrange(1000, 9000),
    }
    broken = sorted(rng.sample(sorted(FUNCTIONS), 2))
    order = rng.sample(sorted(FUNCTIONS), len(FUNCTIONS))
    source = '"""Several ways to add."""\n\n' + "".join(
        f"{name} = {value}\n" for name, value in constants.items()
    )
    for name in order:
        code, bugs = FUNCTIONS[name]
        if name in broken:
            code = code.replace(*rng.choice(bugs))
        source += f"\n{code}"
    (workspace / "add.py").write_text(source, encoding="utf-8", newline="\n")
    return {"broken": broken, "functions": order, "constants": constants, "source": source}
