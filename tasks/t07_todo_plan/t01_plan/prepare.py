"""Draws the four steps, the functions that they are about, and in which order the brief tells them."""

import pathlib
import random

STEPS = [
    "write a failing test for `{}`",
    "add type hints to `{}`",
    "replace the loop in `{}` by a call of `sum`",
    "let `{}` accept negative numbers",
    "move `{}` into a module of its own",
    "delete the unused function `{}`",
    "measure how long `{}` takes",
    "write the docstring of `{}`",
]
WORDS = [
    "badge",
    "cable",
    "crate",
    "drawer",
    "filter",
    "gauge",
    "ledger",
    "meter",
    "parcel",
    "ticket",
    "valve",
]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write add.py. Steps are told by what they depend on, so that the order has to be worked out."""
    rng = random.Random(f"t07_todo_plan/t01_plan:{seed}")
    names = [f"{rng.choice(('add', 'sum', 'join', 'count'))}_{word}s" for word in rng.sample(WORDS, 4)]
    first, second, third, last = (
        step.format(name) for step, name in zip(rng.sample(STEPS, 4), names, strict=True)
    )
    told = [
        f"At the very end, {last}.",
        f"You can {third}, but only directly after you {second}.",
        f"Before everything else, {first}.",
    ]
    if rng.random() < 0.5:
        told[0], told[1] = told[1], told[0]
    functions = "\n\n".join(f"def {name}(*values):\n    return sum(values)\n" for name in sorted(names))
    (workspace / "add.py").write_text(
        f'"""Adds things up."""\n\n\n{functions}', encoding="utf-8", newline="\n"
    )
    return {"brief": " ".join(told), "order": names}
