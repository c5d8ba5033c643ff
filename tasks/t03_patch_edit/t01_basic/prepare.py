"""Draws the module with the unguarded division and the message of the error."""

import pathlib
import random

WORDS = ["barley", "cotton", "ginger", "indigo", "linen", "millet", "nutmeg", "pepper", "saffron", "walnut"]
SOURCE = '''"""Shares of the {goods} trade."""

FACTOR = {factor}


def scale(value):
    """The value in units of this trade."""
    return value * FACTOR


def ratio(a, b):
    """How many times b goes into a; callers make sure that b is not zero."""
    return a / b


def divide(a, b):
    """The quotient of a and b in units of this trade."""
    return a / b * FACTOR


def share(total, people):
    """What each of the people gets."""
    return divide(total, people)
'''


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write broken_divide.py; `ratio` has a division as well and must stay as it is."""
    rng = random.Random(f"t03_patch_basic:{seed}")
    goods, factor = rng.choice(WORDS), rng.randrange(3, 90)
    source = SOURCE.format(goods=goods, factor=factor)
    (workspace / "broken_divide.py").write_text(source, encoding="utf-8", newline="\n")
    message = f"{goods} cannot be divided by zero (rule {rng.randrange(1000, 10_000)})"
    return {"message": message, "factor": factor, "source": source}
