"""Draws a long module with a marker in its last 20 lines and decoys before them."""

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
    """Write add.py of 200 lines and more; one decoy stands shortly before the window."""
    rng = random.Random(f"t02_read_tail:{seed}")
    lines = module(rng, rng.randrange(23, 30))
    right, near, far = marker(rng), marker(rng), marker(rng)
    window = len(lines) - 20
    blank = [number for number, line in enumerate(lines) if not line]
    lines[rng.choice([number for number in blank if 20 < number < 120])] = f"# MARKER: {far}"
    lines[rng.choice([number for number in blank if window - 25 < number < window])] = f"# MARKER: {near}"
    lines[rng.choice([number for number in blank if number >= window])] = f"# MARKER: {right}"
    (workspace / "add.py").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return {"marker": right, "decoys": [near, far], "last": defined(lines)[-1], "lines": len(lines)}
