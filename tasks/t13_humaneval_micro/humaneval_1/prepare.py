"""Draws the depth that is allowed, and what stands for a group that is deeper."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_1:{seed}")
    depth = rng.randrange(2, 6)
    word = rng.choice(["abyss", "burrow", "cellar", "hollow", "mine", "shaft", "well"])
    return {
        "depth": depth,
        "stand_in": f"{word}-{rng.randrange(1000, 10_000)}",
        "deep": "(" * (depth + 1) + ")" * (depth + 1),
    }
