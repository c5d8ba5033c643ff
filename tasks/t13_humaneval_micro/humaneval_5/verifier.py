"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

import itertools

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("intersperse", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Lists in which sums are next to the limit, multiples, or neither."""
    limit, divisor = values["limit"], values["divisor"]
    inputs = [
        [],
        [limit + 5],
        [0, 0],
        [1, limit - 1],
        [2, limit - 1],
        [0, limit],
        [0, limit + 1],
        [divisor, 0],
        [-1, 1],
        [-divisor, 0],
        [-3, 1],
        [1, 2, 3],
        [limit * divisor, 0],
        [limit * divisor, 1],
    ]
    for _ in range(30):
        numbers = [rng.randrange(-limit // 2, limit)]
        for _ in range(rng.randrange(1, 9)):
            wanted = rng.choice(
                (
                    limit,
                    limit + 1,
                    divisor * rng.randrange(-9, 2 * limit // divisor),
                    rng.randrange(-limit, 2 * limit),
                )
            )
            numbers.append(wanted - numbers[-1])
        inputs.append(numbers)
    return [(numbers, rng.randrange(-9, 100)) for numbers in inputs]


def reference(values, numbers, delimeter):
    """Pair by pair."""
    spread = numbers[:1]
    for left, right_one in itertools.pairwise(numbers):
        times = 2 if left + right_one > values["limit"] else 1
        spread += [delimeter] * (times if (left + right_one) % values["divisor"] else 0) + [right_one]
    return spread
