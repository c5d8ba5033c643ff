"""Draws the script and the number."""

import pathlib
import random

WORDS = ["badger", "condor", "donkey", "falcon", "gibbon", "heron", "iguana", "kestrel", "lizard", "marmot"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write target.py: some lines that print, one of which has a name that ends in x."""
    rng = random.Random(f"t03_patch_v4a:{seed}")
    words = rng.sample(WORDS, rng.randrange(3, 7))
    lines = [f'print("{word}", {rng.randrange(10, 100)})' for word in words]
    lines.insert(rng.randrange(1, len(lines)), f"max_x = {rng.randrange(100, 1000)}")
    source = "\n".join(lines) + "\n"
    (workspace / "target.py").write_text(source, encoding="utf-8", newline="\n")
    return {"number": rng.randrange(1000, 10_000), "source": source}
