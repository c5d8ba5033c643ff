"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("sum_product", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Lists with numbers next to the cap and multiples of the divisor, above the cap as well."""
    cap, divisor = values["cap"], values["divisor"]
    high = (cap // divisor + 3) * divisor
    inputs = [
        [],
        [0],
        [1],
        [cap],
        [cap + 1],
        [cap - 1],
        [divisor],
        [-divisor, 2],
        [high],
        [high, 3],
        [3, high + 1],
        [cap, cap + 1, cap + 2],
        [-cap - 5, 2],
        [0, 0, 3],
        [divisor + 1, divisor - 1, divisor],
    ]
    for _ in range(30):
        low, top = rng.choice(((-30, 30), (cap - 4, cap + 5), (-2 * cap, 2 * cap)))
        numbers = [rng.randrange(low, top) for _ in range(rng.randrange(1, 9))]
        inputs.append([number - number % divisor if rng.random() < 0.25 else number for number in numbers])
    return [(numbers,) for numbers in inputs]


def reference(values, numbers):
    """Number by number."""
    total, product = 0, 1
    for number in numbers:
        total += min(number, values["cap"])
        product *= min(number, values["cap"]) if number % values["divisor"] else 1
    return total, product
