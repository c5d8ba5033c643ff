"""Draws two scripts and the codes that they put together when they are run."""

import pathlib
import random

WORDS = ["dredge", "hoist", "lathe", "moor", "plane", "rivet", "solder", "tack", "temper", "weld"]
MARKS = ["ash", "birch", "elm", "fir", "larch", "oak", "pine", "rowan", "yew"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the scripts; no code stands in them."""
    rng = random.Random(f"t07_todo_plan/t02_update:{seed}")
    names, codes = rng.sample(WORDS, 2), {}
    for name in names:
        marks = rng.sample(MARKS, 4)
        chosen, left, right = rng.randrange(4), rng.randrange(113, 997), rng.randrange(113, 997)
        script = f"set -- {' '.join(marks)}\nshift {chosen}\n" + f'echo "code: $1-$(({left} * {right}))"\n'
        (workspace / f"{name}.sh").write_text(script, encoding="utf-8", newline="\n")
        codes[f"{name}.sh"] = f"{marks[chosen]}-{left * right}"
    return {"first": names[0], "second": names[1], "codes": codes}
