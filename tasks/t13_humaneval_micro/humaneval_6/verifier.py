"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("parse_nested_parens", trace, inputs_for, reference)


def group_of(rng, depth, kinds):
    """A balanced group of at most this depth."""
    inside = [group_of(rng, depth - 1, kinds) for _ in range(rng.randrange(3))] if depth > 1 else []
    kind = rng.choice(kinds)
    return f"{kind[0]}{''.join(inside)}{kind[1]}"


def inputs_for(values, rng):
    """One to five groups, of one kind of brackets or of all."""
    inputs = [
        "",
        "()",
        "[]",
        "{}",
        "[[]] {{}} (())",
        "({[]}) [({})] {[()]}",
        "[][]()",
        "([][]()) ({}[])",
        f"{'(' * 60}{')' * 60} []",
    ]
    for _ in range(30):
        kinds = rng.choice((["()"], ["()", "[]"], ["[]", "{}"], ["()", "[]", "{}"]))
        inputs.append(" ".join(group_of(rng, rng.randrange(1, 7), kinds) for _ in range(rng.randrange(1, 6))))
    return [(text,) for text in inputs]


def reference(values, paren_string):
    """The most that is open at a time, group by group."""
    weight = {"(": 1, "[": values["square"], "{": values["curly"]}
    weight |= {end: -weight[begin] for begin, end in ("()", "[]", "{}")}
    found = []
    for group in paren_string.split():
        now = most = 0
        for char in group:
            now += weight[char]
            most = max(most, now)
        found.append(most)
    return found
