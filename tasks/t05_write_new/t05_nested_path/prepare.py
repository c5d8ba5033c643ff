"""Draws the path of the new file, what it must hold, and what is there already."""

import pathlib
import random

WORDS = ["arch", "brook", "cliff", "dune", "eddy", "fjord", "glade", "hill", "islet", "knoll", "lagoon"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Make the first directory of the path, with a file in it; the others do not exist."""
    rng = random.Random(f"t05_write_nested:{seed}")
    first, second, third, name, other = rng.sample(WORDS, 5)
    beside = workspace / first / f"{other}.txt"
    beside.parent.mkdir()
    beside.write_text(f"content of {other} {rng.randrange(1000, 10_000)}\n", encoding="utf-8", newline="\n")
    return {
        "path": f"{first}/{second}/{third}/{name}.txt",
        "content": f"nested content {name} {rng.randrange(1000, 10_000)}",
        "beside": f"{first}/{other}.txt",
    }
