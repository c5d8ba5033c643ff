"""Draws two classes of ten methods each, where the new method goes, and what it returns."""

import pathlib
import random

WORDS = [
    "amber",
    "basil",
    "cedar",
    "denim",
    "elder",
    "fennel",
    "garnet",
    "hazel",
    "ivory",
    "juniper",
    "laurel",
]


def block(name: str, methods: list[tuple[str, int]]) -> list[str]:
    """The lines of a class."""
    lines = [f"class {name}:"]
    for method, number in methods:
        lines += [f"    def {method}(self):", f"        return {number}", ""]
    return [*lines, ""]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write big_block.py: Fob, then Foo, with the same methods."""
    rng = random.Random(f"t03_patch_multiline:{seed}")
    value, *numbers = rng.sample(range(100, 1000), 11)
    methods = list(zip(rng.sample(WORDS, 10), numbers, strict=True))
    lines = ['"""Two classes that are alike."""', "", "", *block("Fob", methods), *block("Foo", methods)]
    source = "\n".join(lines).rstrip() + "\n"
    (workspace / "big_block.py").write_text(source, encoding="utf-8", newline="\n")
    return {"value": value, "after": methods[rng.randrange(2, 8)][0], "source": source}
