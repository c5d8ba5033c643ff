"""Draws what the file holds at first, what its neighbour holds, and the new line."""

import pathlib
import random

WORDS = ["attic", "balcony", "cellar", "dormer", "eaves", "foyer", "gable", "hallway", "landing", "pantry"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write greeting.txt of several lines, longer than the new one, and greeting.old.txt."""
    rng = random.Random(f"t05_write_overwrite:{seed}")
    place, *places = rng.sample(WORDS, 6)
    numbers = rng.sample(range(1000, 10_000), 7)
    lines = [
        f"Hello from the {name}, number {number}." for name, number in zip(places, numbers, strict=False)
    ]
    (workspace / "greeting.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    old = f"Hello from the {place}, number {numbers[-2]}.\n"
    (workspace / "greeting.old.txt").write_text(old, encoding="utf-8", newline="\n")
    return {"greeting": f"Updated for the {place}, number {numbers[-1]}!", "old": old, "lines": lines}
