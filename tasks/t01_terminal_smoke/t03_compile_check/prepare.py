"""Draws which of the two modules is broken, and on which line."""

import hashlib
import pathlib
import random

BROKEN = ["    total = = left", "    return left +* right", "    if left > right return left"]


def module(rng: random.Random, verb: str, sign: str) -> list[str]:
    """The lines of a module of twelve to eighteen small functions."""
    lines = [f'"""Functions that {verb} numbers."""', "", ""]
    for number in rng.sample(range(100, 1000), rng.randrange(12, 19)):
        lines += [f"def {verb}_{number}(left, right):", f"    total = left {sign} right"]
        lines += [f"    # step {rng.randrange(100, 999)}"] * rng.randrange(0, 3)
        lines += [f"    return total + {rng.randrange(1, 99)}", "", ""]
    return lines[:-2]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py and scale.py; one of them gets one line that no Python 3 accepts."""
    rng = random.Random(f"t03_compile_check:{seed}")
    modules = {"add.py": module(rng, "add", "+"), "scale.py": module(rng, "scale", "*")}
    broken = rng.choice(sorted(modules))
    lines = modules[broken]
    spots = [number for number, line in enumerate(lines, 1) if number > 9 and line.startswith("    total")]
    spot = rng.choice(spots)
    lines[spot - 1] = rng.choice(BROKEN)
    digests = {}
    for name, content in modules.items():
        data = ("\n".join(content) + "\n").encode()
        (workspace / name).write_bytes(data)
        digests[name] = hashlib.sha256(data).hexdigest()
    clean = next(name for name in modules if name != broken)
    return {"broken": broken, "clean": clean, "line": spot, "sha256": digests}
