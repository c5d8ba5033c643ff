"""Draws a long module in which some lines hold "def" without defining anything."""

import pathlib
import random

WORDS = ["arch", "bell", "cove", "dell", "fern", "gate", "hill", "jade", "leaf", "mint", "nest", "pine"]
ASIDES = [
    "    # the default is kept",
    "    # undefined for less",
    "    # deferred",
    "    # see the definition",
]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py; the number of lines with "def" is not the number of functions."""
    rng = random.Random(f"t04_pipeline:{seed}")
    lines = ['"""Many ways to add."""', "", ""]
    for number in range(rng.randrange(120, 260)):
        lines.append(f"def add_{rng.choice(WORDS)}_{number}(left, right):")
        lines += rng.sample(ASIDES, rng.choice([0, 0, 1, 2]))
        lines += [f"    return left + right + {rng.randrange(100)}", "", ""]
    (workspace / "add.py").write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8", newline="\n")
    functions = sum(line.startswith("def ") for line in lines)
    return {"count": sum("def" in line for line in lines), "functions": functions, "lines": len(lines) - 2}
