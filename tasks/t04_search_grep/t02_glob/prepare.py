"""Draws a tree of Python files with and without functions, and of other files with functions in them."""

import pathlib
import random

WORDS = ["agate", "beryl", "coral", "flint", "jade", "jasper", "onyx", "opal", "pearl", "quartz", "topaz"]
FOLDERS = ["", "app", "app/models", "etc", "plugins/extra", "scripts", "src", "src/net/tcp"]
OTHERS = [".pyi", ".txt", ".md", ".py.orig", ".pyx", ".ipynb", ".rb"]


def text(rng: random.Random, functions: int) -> str:
    """A module of constants and so many functions. Without functions the letters d, e, f never meet in it."""
    lines = [
        f"{rng.choice(WORDS).upper()}_{rng.randrange(100, 1000)} = {rng.randrange(100)}" for _ in range(6)
    ]
    for _ in range(functions):
        lines += [
            "",
            "",
            f"def {rng.choice(WORDS)}_{rng.randrange(1000, 10_000)}(value):",
            "    return value + 1",
        ]
    return "\n".join(lines) + "\n"


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write some 18 files; no two have the same stem."""
    rng = random.Random(f"t04_search_glob:{seed}")
    stems = [f"{rng.choice(WORDS)}_{number}" for number in rng.sample(range(100, 1000), 18)]
    count = rng.randrange(4, 8)
    found, others, kinds = [], [], []
    for number, stem in enumerate(stems):
        # One at the top and one below, so that neither a search of the top alone nor one of the rest is enough.
        folder = {0: "", 1: "src/net/tcp"}.get(number, rng.choice(FOLDERS))
        if number < count:
            path, functions = f"{folder}/{stem}.py", rng.randrange(1, 4)
            found.append(path.lstrip("/"))
        elif number < count + 5:
            path, functions = f"{folder}/{stem}.py", 0
            others.append(path.lstrip("/"))
        else:
            ending = OTHERS[number - count - 5] if number < count + 12 else rng.choice(OTHERS)
            path, functions = f"{folder}/{stem}{ending}", rng.randrange(1, 4)
            kinds.append(path.lstrip("/"))
        file = workspace / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(rng, functions), encoding="utf-8", newline="\n")
    return {"found": sorted(found), "others": sorted(others), "kinds": sorted(kinds)}
