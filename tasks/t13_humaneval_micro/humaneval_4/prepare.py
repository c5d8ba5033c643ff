"""Draws the range of what is no faulty reading, and what is returned for nothing."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_4:{seed}")
    low, high = rng.randrange(10, 100), rng.randrange(200, 10_000)
    return {"low": low, "high": high, "step": low + 2, "empty": f"-{rng.randrange(2, 1000)}.5"}
