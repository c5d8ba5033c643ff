"""Draws a long module with a marker within the first 50 lines and a decoy behind them."""

import pathlib
import random

WORDS = ["briar", "dingo", "finch", "gecko", "hyena", "jackal", "lemur", "moose", "otter", "quail"]
SHADES = ["azure", "beige", "cobalt", "coral", "ivory", "khaki", "lilac", "mauve", "olive", "umber"]


def marker(rng: random.Random) -> str:
    """A value that nobody guesses."""
    return f"{rng.choice(SHADES)}-{rng.choice(WORDS)}-{rng.randrange(1000, 10_000)}"


def module(rng: random.Random, functions: int) -> list[str]:
    """The lines of a module of that many functions, seven to eleven lines each."""
    lines = ['"""Ways to add two numbers."""', "", ""]
    for number in rng.sample(range(100, 1000), functions):
        lines += [
            f"def add_{rng.choice(WORDS)}_{number}(left, right):",
            f'    """Add, then step by {number % 7}."""',
        ]
        lines += ["    total = left + right"]
        lines += [f"    total += {rng.randrange(2, 90)}" for _ in range(rng.randrange(1, 6))]
        lines += ["    return total", "", ""]
    return lines[:-2]


def defined(lines: list[str]) -> list[str]:
    """The names of the functions that these lines define."""
    return [line[4 : line.index("(")] for line in lines if line.startswith("def ")]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py of some 230 lines."""
    rng = random.Random(f"t01_read_head:{seed}")
    lines = module(rng, 25)
    right, decoy = marker(rng), marker(rng)
    blank = [number for number, line in enumerate(lines) if not line]
    late = rng.choice([number for number in blank if 60 < number < 190])
    early = rng.choice([number for number in blank if 2 < number < 45])
    lines[late] = f"# MARKER: {decoy}"
    lines[early] = f"# MARKER: {right}"
    (workspace / "add.py").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return {
        "marker": right,
        "decoy": decoy,
        "functions": defined(lines[:50]),
        "outside": defined(lines[50:]),
        "lines": len(lines),
    }
