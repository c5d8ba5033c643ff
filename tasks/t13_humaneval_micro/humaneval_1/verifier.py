"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("separate_paren_groups", trace, inputs_for, reference)


def group_of(rng, depth):
    """A balanced group of exactly this depth, with shallower ones beside the deepest."""
    inside = [group_of(rng, rng.randrange(1, depth)) for _ in range(rng.randrange(3))] if depth > 1 else []
    inside += [group_of(rng, depth - 1)] if depth > 1 else []
    rng.shuffle(inside)
    return f"({''.join(inside)})"


def inputs_for(values, rng):
    """Strings of several groups, with spaces in them."""
    depth = values["depth"]
    inputs = [
        "",
        "   ",
        "()",
        " ( ) ",
        "()()",
        "(" * depth + ")" * depth,
        "(" * (depth + 1) + ")" * (depth + 1),
        "()" * (depth + 3),
        f"({'()' * (depth + 3)})",
    ]
    for _ in range(25):
        groups = [group_of(rng, rng.randrange(1, depth + 3)) for _ in range(rng.randrange(1, 6))]
        spaced = [char + " " * (rng.random() < 0.2) * rng.randrange(1, 3) for char in "".join(groups)]
        inputs.append(" " * rng.randrange(2) + "".join(spaced))
    return [(text,) for text in inputs]


def reference(values, paren_string):
    """Counts what is open."""
    groups, group, now, deepest = [], "", 0, 0
    for char in paren_string.replace(" ", ""):
        group += char
        now += 1 if char == "(" else -1
        deepest = max(deepest, now)
        if now == 0:
            groups.append(group if deepest <= values["depth"] else values["stand_in"])
            group, deepest = "", 0
    return groups
