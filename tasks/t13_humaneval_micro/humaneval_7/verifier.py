"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

from hemra_verifier import functions


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    return functions.judged("filter_by_substring", trace, inputs_for, reference)


def inputs_for(values, rng):
    """Strings of few letters in both cases, some of them next to the greatest length, some with the beginning."""
    length, prefix = values["length"], values["prefix"]
    edge = [
        "ab" + "x" * (length - 2),
        "ab" + "x" * (length - 1),
        "x" * (length - 2) + "ab",
        "x" * (length - 1) + "ab",
    ]
    begun = [f"{prefix}ab", f"{prefix.upper()}ab", f" {prefix}ab", f"ab{prefix}", f"{prefix[:-1]}ab", prefix]
    inputs = [
        ([], "a"),
        (edge, "ab"),
        (begun, "ab"),
        (begun, ""),
        (begun, prefix),
        (["", "a", "A", "ab"], ""),
        (["aB", "Ab", "AB", "ab", "ba"], "ab"),
        (["aB", "Ab", "AB", "ab", "ba"], "AB"),
        (["ab", "ab", "ab"], "ab"),
        ([""], "a"),
        (["a.b", "axb"], "a.b"),
    ]
    for _ in range(25):
        strings = []
        for _ in range(rng.randrange(1, 9)):
            size = rng.choice((rng.randrange(6), length - 1, length, length + 1))
            begin = rng.choice(("", "", prefix, prefix.upper(), prefix[:-1]))
            strings.append((begin + "".join(rng.choice("abcABC ") for _ in range(60)))[:size])
        inputs.append((strings, "".join(rng.choice("abAB") for _ in range(rng.randrange(1, 3)))))
    return inputs


def reference(values, strings, substring):
    """String by string."""
    fold = str.lower if values["rule"] == "ignore" else str
    kept = [
        text for text in strings if len(text) <= values["length"] and not text.startswith(values["prefix"])
    ]
    return [text for text in kept if fold(substring) in fold(text)]
