"""Draws the marker and writes the script that puts it together when it is sourced."""

import pathlib
import random

WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "kestrel", "maple"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write `marker.sh`; the marker stands nowhere in it, it comes out of running it."""
    rng = random.Random(f"t01_echo:{seed}")
    words = rng.sample(WORDS, 6)
    chosen = rng.randrange(len(words))
    left, right = rng.randrange(113, 997), rng.randrange(113, 997)
    script = (
        "# To be sourced by bash: sets MARKER.\n"
        f"words=({' '.join(words)})\n"
        f'MARKER="hello-${{words[{chosen}]}}-$(({left} * {right}))"\n'
    )
    (workspace / "marker.sh").write_text(script, encoding="utf-8", newline="\n")
    return {"marker": f"hello-{words[chosen]}-{left * right}"}
