"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

import itertools

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("has_close_elements", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Lists and thresholds; all numbers are quarters, so that differences are exact."""
    limit = values["limit"]
    inputs = [([], 1.0), ([2.0], 5.0), ([5.0, 5.0], 0.0), ([5.0, 5.0], 0.25), ([1.0, 4.0, 2.5], 1.5)]
    for sign in (1.0, -1.0):
        inputs += [
            ([sign * (limit + a), 0.0, sign * (limit + b)], 0.5)
            for a, b in ((0, -0.25), (0, 0), (0.25, 0), (0.25, 0.25), (1, 1.25), (-1, -1.25), (1, 1), (-7, 7))
        ]
    inputs.append(([float(limit), -float(limit)], 2.0 * limit + 0.25))
    for _ in range(40):
        spread = rng.choice((20, 100, 4 * limit + 40))
        numbers = [rng.randrange(-spread, spread + 1) / 4 for _ in range(rng.randrange(2, 9))]
        inputs.append((numbers, rng.randrange(1, 9) / 4))
    return inputs


def reference(values, numbers, threshold):
    """Neighbours in the sorted list, without the faults."""
    kept = sorted(number for number in numbers if abs(number) <= values["limit"])
    return any(high - low < threshold for low, high in itertools.pairwise(kept))
