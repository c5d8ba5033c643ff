"""Draws names, number and sizes of the files in the workspace."""

import pathlib
import random

WORDS = ["beacon", "copper", "dune", "ether", "flint", "grove", "heron", "jasper", "kiln", "larch"]
SUFFIXES = ["txt", "csv", "log", "dat"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Add five to seven files, one of them hidden, and a directory to the fixture's own files."""
    rng = random.Random(f"t02_ls:{seed}")
    words = rng.sample(WORDS, rng.randrange(7, 10))
    stems = [f"{word}-{rng.randrange(10, 100)}" for word in words]
    folder, hidden, plain_stems = stems[0], f".{stems[1]}", stems[2:]
    files = [hidden, *(f"{stem}.{rng.choice(SUFFIXES)}" for stem in plain_stems)]
    sizes = rng.sample(range(1200, 9000), len(files))
    largest = rng.randrange(1, len(files))
    sizes[largest] = rng.randrange(10_000, 60_000)
    for name, size in zip(files, sizes, strict=True):
        line = f"{name} " * 8
        (workspace / name).write_text((line * (size // len(line) + 1))[:size], encoding="utf-8")
    (workspace / folder).mkdir()
    (workspace / folder / "inner.txt").write_text("inside\n", encoding="utf-8")
    names = sorted([*files, folder, "notes.md"])
    return {"names": names, "largest": files[largest], "largest_bytes": sizes[largest]}
