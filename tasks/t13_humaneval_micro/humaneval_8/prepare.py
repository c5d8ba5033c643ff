"""Draws the cap and the divisor."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_8:{seed}")
    divisor, cap = rng.choice((5, 7, 9, 11, 13)), rng.randrange(50, 5000)
    above = cap + 2
    while above % divisor == 0:
        above += 1
    return {
        "cap": cap,
        "divisor": divisor,
        "multiple": 3 * divisor,
        "total": 7 + 3 * divisor,
        "above": above,
        "sum_above": cap + 2,
        "product_above": 2 * cap,
    }
