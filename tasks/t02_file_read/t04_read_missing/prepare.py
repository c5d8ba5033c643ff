"""Draws which record is asked for, where it went, and every token."""

import pathlib
import random

WORDS = ["adder", "bream", "crane", "dunlin", "egret", "ferret", "gannet", "hornet", "linnet", "marten"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write six records and an index; the record that is asked for is not among them."""
    rng = random.Random(f"t04_read_missing:{seed}")
    names = [f"{word}_{rng.randrange(2001, 2026)}.py" for word in rng.sample(WORDS, 9)]
    present, gone = names[:6], names[6:]
    folder = workspace / "records"
    folder.mkdir()
    tokens = {}
    for name, number in zip(present, rng.sample(range(1000, 10_000), 6), strict=True):
        tokens[name] = f"tok-{number}-{rng.choice(WORDS)}"
        text = f'"""Record {name[:-3]}."""\n\nTOKEN = "{tokens[name]}"\nPAGES = {rng.randrange(10, 99)}\n'
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    moves = dict(zip(gone, rng.sample(present, 3), strict=True))
    index = "Records that were moved:\n" + "".join(f"{old} -> {new}\n" for old, new in sorted(moves.items()))
    (folder / "INDEX.txt").write_text(index, encoding="utf-8", newline="\n")
    asked = rng.choice(gone)
    return {
        "asked": asked,
        "moved_to": moves[asked],
        "token": tokens[moves[asked]],
        "tokens": sorted(tokens.values()),
    }
