"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("rolling_max", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Lists in which the special numbers, their neighbours and others follow one another."""
    reset, limit = values["reset"], values["limit"]
    inputs = [
        [],
        [5],
        [-5, -9, -3],
        [reset],
        [limit],
        [limit + 1],
        [limit + 1, limit + 1, 4],
        [limit, limit + 1, 3],
        [reset + 9, reset, 4],
        [limit, reset, limit + 1, 7],
        [reset + 1, reset - 1, reset, reset - 1],
        [limit + 2, reset, 1],
        [7, 7, 7],
        [limit - 1, limit, limit + 1, limit - 1],
    ]
    for _ in range(30):
        numbers = []
        for _ in range(rng.randrange(1, 12)):
            special = rng.choice((reset, reset - 1, reset + 1, limit, limit + 1, limit - 1))
            numbers.append(special if rng.random() < 0.5 else rng.randrange(-limit, 2 * limit))
        inputs.append(numbers)
    return [(numbers,) for numbers in inputs]


def reference(values, numbers):
    """Number by number."""
    found, most = [], None
    for number in numbers:
        if number == values["reset"]:
            most = number
        elif number <= values["limit"]:
            most = number if most is None else max(most, number)
        found.append(int(values["nothing"]) if most is None else most)
    return found
