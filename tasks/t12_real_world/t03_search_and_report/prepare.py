"""Draws a tree of files, where TODO stands in them, and near misses."""

import pathlib
import random

FOLDERS = ["", "docs", "lib", "lib/inner", "tools/old", "web"]
NAMES = [
    "anvil",
    "barrel",
    "cable",
    "drill",
    "easel",
    "flask",
    "girder",
    "hinge",
    "ingot",
    "joist",
    "kiln",
    "ladle",
]
ENDINGS = {".py": "# ", ".txt": "", ".md": "- ", ".js": "// ", ".sh": "# "}
TASKS = [
    "oil the gears",
    "ask the owner",
    "count again",
    "paint it",
    "measure twice",
    "tidy up",
    "check the seal",
    "replace the belt",
    "order more",
    "label the box",
    "test the brake",
    "sand the edge",
]
MISSES = [
    "todo: {}",
    "Todo: {}",
    "TODOS: {}",
    "AUTODOC {}",
    "METODO {}",
    "to do: {}",
    "TO DO: {}",
    "TODO_LIST = {!r}",
]
PLAIN = ["nothing here", "value = compute(3)", "see above", "the end of the part", "", "x = [1, 2, 3]"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write some 12 files; five of them hold one to three hits."""
    rng = random.Random(f"t12_search:{seed}")
    paths = []
    for name in rng.sample(NAMES, 12):
        paths.append(f"{rng.choice(FOLDERS)}/{name}{rng.choice(sorted(ENDINGS))}".lstrip("/"))
    hits, tasks, misses = {}, rng.sample(TASKS, len(TASKS)), rng.sample(MISSES, len(MISSES))
    for number, path in enumerate(paths):
        mark = ENDINGS[path[path.rindex(".") :]]
        lines = [mark + rng.choice(PLAIN) for _ in range(rng.randrange(12, 60))]
        places = rng.sample(range(len(lines)), 4)
        for place in places[: rng.randrange(1, 3)]:
            lines[place] = mark + misses[number % len(misses)].format(rng.choice(TASKS))
        wanted = sorted(places[2 : 2 + rng.randrange(1, 3)]) if number < 5 else []
        for place in wanted:
            lines[place] = f"{mark}TODO{rng.choice((':', ' -', '(later):'))} {tasks.pop()}"
        if wanted:
            hits[path] = [place + 1 for place in wanted]
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return {"hits": hits, "files": sorted(paths)}
