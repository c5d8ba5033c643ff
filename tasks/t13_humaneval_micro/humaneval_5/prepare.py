"""Draws the sum above which there are two, and the divisor of the sums for which there is none."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_5:{seed}")
    limit, divisor = rng.randrange(100, 5000), rng.choice((7, 9, 11, 13, 17))
    while limit % divisor in (0, divisor - 1):
        limit += 1
    return {"limit": limit, "divisor": divisor, "twice": limit, "none": divisor * 3 - 1}
