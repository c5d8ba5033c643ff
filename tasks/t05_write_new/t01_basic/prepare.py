"""Draws the greeting, and files with names that are close to that of the new one."""

import pathlib
import random

WORDS = [
    "atrium",
    "bakery",
    "chapel",
    "dockyard",
    "foundry",
    "granary",
    "harbour",
    "library",
    "mill",
    "quarry",
]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write a README and a file of other greetings; greeting.txt is not there yet."""
    rng = random.Random(f"t05_write_basic:{seed}")
    place, other = rng.sample(WORDS, 2)
    greeting = f"Hello from the {place}, number {rng.randrange(1000, 10_000)}!"
    (workspace / "greetings.txt").write_text(
        f"Hello from the {other}, number {rng.randrange(1000, 10_000)}!\n", encoding="utf-8", newline="\n"
    )
    (workspace / "README.md").write_text("One greeting a file.\n", encoding="utf-8", newline="\n")
    return {"greeting": greeting}
