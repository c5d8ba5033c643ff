"""Draws how many functions each file has, and what it is called."""

import pathlib
import random

WORDS = ["bagel", "crepe", "donut", "fudge", "gelato", "halva", "kulfi", "mochi", "nougat", "praline"]
FOLDERS = ["", "bin", "core", "core/parse", "core/parse/fast", "more"]
NUMBERS = ["{w} = {n}", "default = {n}", "{w}_defs = {n}", "undefined = '{w} {n}'"]


def text(rng: random.Random, names: list[str]) -> str:
    """A module of these functions; lines with other words that have the letters def in them stand between."""
    lines = [rng.choice(NUMBERS).format(w=rng.choice(WORDS), n=rng.randrange(100)) for _ in range(4)]
    lines.append(f"default = {rng.randrange(100)}")
    for name in names:
        lines += ["", "", f"def {name}(value):", f"    return value + {rng.randrange(1, 50)}"]
    return "\n".join(lines) + "\n"


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write Python files with and without functions, and others with functions.

    The number of files is none of the numbers of lines in a file, so that it cannot be said by accident.
    """
    rng = random.Random(f"t04_search_output_mode:{seed}")
    files = rng.randrange(6, 10)
    counts = [rng.choice([number for number in range(4, 14) if number != files]) for _ in range(files)]
    sizes = [*counts, 0, 0, 0]
    kinds = [".py"] * len(sizes) + [".pyi", ".txt", ".py.bak", ".md"]
    sizes += [rng.randrange(1, 6) for _ in range(4)]
    letters = rng.sample([first + second for first in "abcdegh" for second in "ijkl"], len(sizes))
    stems = [f"{rng.choice(WORDS)}_{pair}" for pair in letters]
    names = [f"{rng.choice(WORDS)}_{number}" for number in rng.sample(range(10_000, 100_000), sum(sizes))]
    left = list(names)
    for number, (size, kind) in enumerate(zip(sizes, kinds, strict=True)):
        own, left = left[:size], left[size:]
        folder = {0: "core/parse/fast", 1: ""}.get(number, rng.choice(FOLDERS))
        file = workspace / folder / f"{stems[number]}{kind}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(rng, own), encoding="utf-8", newline="\n")
    return {"lines": sum(counts), "files": files, "counts": counts, "names": names[: sum(counts)]}
