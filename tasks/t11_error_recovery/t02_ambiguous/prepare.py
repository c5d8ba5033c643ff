"""Draws the classes, what the handlers return, and what one of them is to return."""

import pathlib
import random

WORDS = ["Courier", "Keeper", "Miller", "Porter", "Ranger", "Sexton", "Tanner", "Usher", "Warden", "Weaver"]
STATES = ["asleep", "idle", "open", "pending", "quiet", "ready", "waiting"]


def a_class(name: str, body: list[str]) -> list[str]:
    """The lines of a class with a handler."""
    return [f"class {name}:", f'    """What the {name.lower()} does."""', "", *body, "", ""]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write multi.py: three classes that differ in their names only."""
    rng = random.Random(f"t11_ambiguous:{seed}")
    names, (old, new) = rng.sample(WORDS, 3), rng.sample(STATES, 2)
    old, new = f"{old}-{rng.randrange(10, 100)}", f"{new}-{rng.randrange(100, 1000)}"
    limit = rng.randrange(3, 90)
    body = [
        "    def handler(self, event):",
        f"        if event.size > {limit}:",
        "            event.defer()",
        f'        return "{old}"',
        "",
        "    def close(self):",
        f'        """Goes back to {old}."""',
        f'        self.state = "{old}"',
    ]
    lines = ['"""Three classes that handle events in the same way."""', "", ""]
    for name in names:
        lines += a_class(name, body)
    source = "\n".join(lines[:-2]) + "\n"
    (workspace / "multi.py").write_text(source, encoding="utf-8", newline="\n")
    returns = [number for number, line in enumerate(lines) if line.strip() == f'return "{old}"']
    return {"old": old, "new": new, "source": source, "returns": returns}
