"""Draws the name of the program that is looked for, of another one like it, and how many children it has."""

import pathlib
import random

WORDS = [
    "acorn",
    "bramble",
    "clover",
    "fescue",
    "gorse",
    "heather",
    "laurel",
    "myrtle",
    "sorrel",
    "thistle",
    "yarrow",
]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written: world.py makes the processes, and their ids are the system's."""
    rng = random.Random(f"t06_process_mgmt/t05_zombie:{seed}")
    first, second = rng.sample(WORDS, 2)
    return {
        "name": f"nursery-{first}-{rng.randrange(1000, 10_000)}",
        "other": f"nursery-{second}-{rng.randrange(1000, 10_000)}",
        "zombie_count": rng.randrange(2, 5),
        "living_count": rng.randrange(2, 4),
    }
