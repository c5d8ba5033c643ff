"""Draws the nested path and the key in it, and decoys beside it."""

import pathlib
import random

WORDS = ["atlas", "bronze", "canyon", "domain", "estate", "forest", "galley", "hangar", "island", "kernel"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py five to seven directories deep, and others at the top, one level up and beside it."""
    rng = random.Random(f"t05_read_nested:{seed}")
    depth = rng.randrange(5, 8)
    words = rng.sample(WORDS, depth + 1)
    right = pathlib.PurePosixPath(*words[:depth], "add.py")
    beside = pathlib.PurePosixPath(*words[: depth - 1], words[depth], "add.py")
    keys = [f"{rng.choice(WORDS)}-{number}" for number in rng.sample(range(10_000, 100_000), 4)]
    places = [right, pathlib.PurePosixPath("add.py"), right.parent.parent / "add.py", beside]
    for place, key in zip(places, keys, strict=True):
        path = workspace / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f'BUILD_KEY = "{key}"\n\n\ndef add(left, right):\n    return left + right\n'
        path.write_text(text, encoding="utf-8", newline="\n")
    return {"path": str(right), "key": keys[0], "decoys": keys[1:]}
