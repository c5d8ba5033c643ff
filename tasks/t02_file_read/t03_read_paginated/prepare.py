"""Draws the length of the file, its lines, and the checkpoints."""

import pathlib
import random

WORDS = ["acorn", "bison", "cider", "dagger", "easel", "goblet", "jigsaw", "kettle", "ladder", "magnet"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write big_file.py of 131 to 149 lines; no two lines are alike, so a line shown is known."""
    rng = random.Random(f"t03_read_paginated:{seed}")
    length = rng.randrange(131, 150)
    keys = rng.sample(range(10_000, 100_000), length)
    lines = [f"def step_{key}(n): return n + {rng.randrange(2, 900)}" for key in keys]
    checkpoints = []
    for start, stop in ((0, 50), (50, 100), (100, length)):
        value = f"{rng.choice(WORDS)}-{rng.randrange(1000, 10_000)}"
        lines[rng.randrange(start + 3, stop - 3)] += f"  # CHECKPOINT: {value}"
        checkpoints.append(value)
    (workspace / "big_file.py").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return {"lines": length, "checkpoints": checkpoints, "keys": [f"step_{key}" for key in keys]}
