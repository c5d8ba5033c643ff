"""Draws the names of the two sections, what stands in both of them, and the two values."""

import pathlib
import random

WORDS = ["anchor", "beacon", "cradle", "draper", "ember", "fathom", "gantry", "hollow", "inlet", "jetty"]


def section(title: str, lines: list[str]) -> list[str]:
    """A comment with the title, and the lines."""
    return [f"# {title}", *lines, ""]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write dup_strings.py: a head, and two sections that differ in their title only."""
    rng = random.Random(f"t03_patch_ambiguous:{seed}")
    old, new = rng.randrange(10, 50), rng.randrange(50, 100)
    words = rng.sample(WORDS, 10)
    fields = [f"{word} = {rng.randrange(100, 1000)}" for word in words[2:]]
    before, after = rng.randrange(2, 5), rng.randrange(2, 5)
    same = [*fields[:before], f"foo = {old}", *fields[before : before + after]]
    first, second = section(words[0], same), section(words[1], same)
    changed = [f"foo = {new}" if line == f"foo = {old}" else line for line in second]
    head = ['"""Defaults of two stages that are alike."""', ""]
    source = "\n".join([*head, *first, *second])
    (workspace / "dup_strings.py").write_text(source, encoding="utf-8", newline="\n")
    return {"old": old, "new": new, "expected": "\n".join([*head, *first, *changed])}
