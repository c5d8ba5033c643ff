"""Draws how case counts, the greatest length, and the beginning that leaves a string out."""

import pathlib
import random

RULES = {
    "exact": "Capital and small letters are different.",
    "ignore": "It makes no difference for this whether letters are capital or small.",
}


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_7:{seed}")
    rule = rng.choice(sorted(RULES))
    word = rng.choice(["copy", "draft", "old", "spare", "test"])
    return {
        "rule": rule,
        "case_rule": RULES[rule],
        "length": rng.randrange(15, 60),
        "prefix": f"{word}-{rng.randrange(10, 1000)}:",
    }
