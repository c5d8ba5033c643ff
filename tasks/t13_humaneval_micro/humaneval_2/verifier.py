"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

import math

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("truncate_number", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Numbers of both signs, whole ones too, and those next to the limit."""
    limit = values["limit"]
    numbers = [
        0.0,
        0.5,
        7.0,
        3.7,
        1e-3,
        limit,
        limit + 0.25,
        limit - 0.25,
        limit + 1,
        limit - 1,
        limit + 0.001,
    ]
    numbers += [-0.25, -4.0, -17.75, -limit, -(limit + 0.5), -(limit + 40.125)]
    numbers += [rng.randrange(1, 16 * limit) / 16 for _ in range(20)]
    numbers += [-rng.randrange(1, 16 * limit) / 16 for _ in range(10)]
    numbers += [limit + rng.randrange(1, 4000) / 8 for _ in range(5)]
    return [(float(number),) for number in numbers]


def reference(values, number):
    """Raises ValueError where that is the rule."""
    if number > values["limit"]:
        return float(values["overflow"])
    if number < 0 and values["rule"] == "refuse":
        raise ValueError("negative")
    part = math.modf(number)[0]
    return -part if number < 0 and values["rule"] == "up" else part
