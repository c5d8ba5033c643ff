"""Draws what differs from trial to trial. Delete this file if nothing does."""

import pathlib
import random

WORDS = ["anvil", "bridge", "cactus", "drum", "easter", "falcon", "gondola", "hammock"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write per-trial files (after fixture/ was copied) and return the drawn values as JSON."""
    rng = random.Random(f"category/task:{seed}")
    name = f"{rng.choice(WORDS)}-{rng.randrange(100, 1000)}.txt"
    secret = f"{rng.choice(WORDS)}-{rng.randrange(10_000, 100_000)}"
    (workspace / name).write_text(f"SECRET={secret}\n", encoding="utf-8")
    return {"file": name, "secret": secret}
