"""Draws the word of the lines."""

import pathlib
import random

LETTERS = "bcdfghjklmnpqrstvwz"
VOWELS = "aeiou"


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write nothing; the word is made of letters, so that nobody knows it before."""
    rng = random.Random(f"t05_write_large:{seed}")
    return {"word": "".join(rng.choice(LETTERS) + rng.choice(VOWELS) for _ in range(4))}
