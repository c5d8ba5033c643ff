"""Draws a tree of files and which of them hold the word."""

import pathlib
import random

WORDS = ["alder", "birch", "clover", "daisy", "fern", "heather", "iris", "lotus", "maple", "orchid", "poppy"]
FOLDERS = ["", "api", "api/v2", "docs", "docs/notes", "jobs/daily", "lib", "lib/core/io", "web"]
ENDINGS = [".py", ".md", ".txt", ".sh", ".cfg"]
SPELLINGS = ["Todo", "TO-DO", "to do", "T O D O", "To-Do"]


def text(rng: random.Random, line: str) -> str:
    """Some lines, one of which is this one."""
    lines = [f"{rng.choice(WORDS)} {rng.randrange(100, 1000)}" for _ in range(rng.randrange(4, 12))]
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines) + "\n"


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write some 18 files; no two have the same name, and the name says nothing of the content."""
    rng = random.Random(f"t04_search_basic:{seed}")
    numbers = rng.sample(range(100, 1000), 18)
    names = [f"{rng.choice(WORDS)}_{number}{rng.choice(ENDINGS)}" for number in numbers]
    paths = [f"{rng.choice(FOLDERS)}/{name}".lstrip("/") for name in names]
    count = rng.randrange(4, 7)
    spellings = ["todo", *rng.sample(SPELLINGS, 3)]
    # One at the top and one below, so that neither a search of the top alone nor one of the rest is enough.
    paths[0], paths[1] = names[0], f"lib/core/io/{names[1]}"
    paths[17] = f"docs/TODO_{numbers[17]}.md"
    for number, path in enumerate(paths):
        if number < count:
            line = f"# TODO: {rng.choice(WORDS)} {rng.randrange(100, 1000)}"
        elif number < count + 4:
            line = f"# {spellings[number - count]}: {rng.choice(WORDS)} {rng.randrange(100, 1000)}"
        else:
            line = f"# {rng.choice(WORDS)}"
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(rng, line), encoding="utf-8", newline="\n")
    return {"found": sorted(paths[:count]), "others": sorted(paths[count:])}
