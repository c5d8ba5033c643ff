"""Draws the limit above which a number is a faulty reading."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_0:{seed}")
    return {"limit": rng.randrange(100, 10_000)}
