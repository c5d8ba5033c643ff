"""Draws the levels of the two other kinds of brackets."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_6:{seed}")
    square, curly = rng.randrange(2, 100), rng.randrange(2, 100)
    while square == curly:
        curly = rng.randrange(2, 100)
    return {"square": square, "curly": curly, "first": square + 1, "second": square + curly}
