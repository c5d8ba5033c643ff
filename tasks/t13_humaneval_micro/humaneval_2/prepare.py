"""Draws the rule for negative numbers, the limit and what stands for a number above it."""

import pathlib
import random

RULES = {
    "sign": "The decimal part of a negative number is negative as well: that of -3.25 is -0.25.",
    "refuse": "For a negative number the function raises a `ValueError`.",
    "up": "For a negative number it is what is missing to the next whole number: 0.25 for -3.25, and 0.0 for -3.0.",
}


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_2:{seed}")
    rule = rng.choice(sorted(RULES))
    return {
        "rule": rule,
        "negative_rule": RULES[rule],
        "limit": rng.randrange(100, 10_000),
        "overflow": f"-{rng.randrange(2, 1000)}.{rng.choice(('25', '5', '75'))}",
    }
