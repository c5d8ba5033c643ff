"""Draws the number that starts over, the limit of what counts, and what stands where nothing has counted yet."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_9:{seed}")
    reset, limit = rng.randrange(100, 1000), rng.randrange(1100, 9000)
    return {
        "reset": reset,
        "limit": limit,
        "higher": reset + rng.randrange(3, 60),
        "outlier": limit + rng.randrange(1, 60),
        "nothing": f"-{rng.randrange(1000, 10_000)}",
    }
