"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

import math

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("mean_absolute_deviation", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Lists with numbers on both sides of both limits."""
    low, high = values["low"], values["high"]
    inputs = [
        [],
        [1.0],
        [low - 0.5, high + 0.5],
        [float(low)],
        [float(high)],
        [low, high],
        [low - 1, low, low + 7],
        [high - 9, high, high + 1],
        [low - 0.25, high + 0.25, low + 3, low + 4],
        [-low, low, low + 6.5],
    ]
    for _ in range(25):
        size = rng.randrange(1, 10)
        inputs.append([rng.randrange(4 * low - 40, 4 * high + 400) / 4 for _ in range(size)])
        inputs.append([rng.choice((low, high)) + rng.randrange(-12, 13) / 4 for _ in range(size)])
    return [([float(number) for number in numbers],) for numbers in inputs]


def reference(values, numbers):
    """Exactly as it is said."""
    kept = [number for number in numbers if values["low"] <= number <= values["high"]]
    if not kept:
        return float(values["empty"])
    mean = math.fsum(kept) / len(kept)
    return math.fsum(abs(number - mean) for number in kept) / len(kept)
