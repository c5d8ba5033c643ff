"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("below_zero", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Histories that end near the floor, on both sides of it."""
    room, fee = values["start"] + values["overdraft"], values["fee"]
    inputs = [
        [],
        [0],
        [0] * 40,
        [-room],
        [-(room - fee)],
        [-(room - fee) - 1],
        [-(room - fee), 0, 0],
        [-(room - fee), 1, -1],
        [10, -(room + 10 - fee)],
        [10, -(room + 11 - fee)],
        [-(room + 5), room + 500],
        [5] * 30 + [-(room + 150 - fee)],
        [-1] * 20 + [20 + 20 * fee],
    ]
    for _ in range(40):
        operations, left = [], room
        for _ in range(rng.randrange(1, 12)):
            amount = rng.randrange(-room // 3, room // 6)
            operations.append(amount)
            left += amount - fee * (amount < 0)
        if left > fee + 2:
            operations += [-(left - fee + rng.choice((-1, 0, 1))), rng.randrange(1, 900)]
        inputs.append(operations)
    return [(operations,) for operations in inputs]


def reference(values, operations):
    """The balance after each operation."""
    balance = values["start"]
    for amount in operations:
        balance += amount - (values["fee"] if amount < 0 else 0)
        if balance < -values["overdraft"]:
            return True
    return False
