"""Draws the bounds and what is left out."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written; the near misses are kept to tell what went wrong."""
    rng = random.Random(f"t08_execute_code/t01_math:{seed}")
    left_out = rng.choice((3, 7, 11, 13))
    first = rng.randrange(11, 90) * left_out + 1
    last = first + rng.randrange(1500, 4000)
    last += 1 if last % left_out == 0 else 0

    def total(numbers: range, out: int) -> int:
        return sum(n * n for n in numbers if n % out)

    return {
        "first": first,
        "last": last,
        "left_out": left_out,
        "sum": total(range(first, last + 1), left_out),
        "near": {
            "the last number was left out": total(range(first, last), left_out),
            "the first number was left out": total(range(first + 1, last + 1), left_out),
            "nothing was left out": sum(n * n for n in range(first, last + 1)),
        },
    }
