"""Draws the code of each of the three files."""

import pathlib
import random

WORDS = ["bobbin", "candle", "dynamo", "engine", "funnel", "hammer", "jacket", "lantern", "needle", "paddle"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write a.py, b.py and c.py."""
    rng = random.Random(f"t06_read_parallel:{seed}")
    codes = {}
    for name in ("a.py", "b.py", "c.py"):
        codes[name] = f"{rng.choice(WORDS)}-{rng.randrange(10_000, 100_000)}"
        text = f'"""Module {name[0]}."""\n\nCODE = "{codes[name]}"\n\n\ndef get():\n    return CODE\n'
        (workspace / name).write_text(text, encoding="utf-8", newline="\n")
    return {"codes": codes}
