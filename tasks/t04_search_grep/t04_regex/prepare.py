"""Draws the pattern, files with such methods, and files with near misses."""

import pathlib
import random

WORDS = ["adder", "bream", "civet", "drake", "egret", "ferret", "gannet", "hippo", "ibis", "jackdaw", "koala"]
VERBS = ["close", "fetch", "merge", "parse", "reset", "split", "store", "write"]
FOLDERS = ["", "engine", "engine/parts", "forms", "forms/old/unused", "site", "trade"]
NEAR = [
    "def {verb}_{word}(self):",  # not indented
    "    def {verb}_{word}(self, key):",  # takes more
    "    def {verb}_{word}2(self):",  # a digit in its name
    "    def {verb}(self):",  # nothing behind the verb
    "    def {other}_{word}(self):",  # another verb
    "    # def {verb}_{word}(self):",  # a comment
    "    def {verb}_{word}(cls):",  # of the class
    "    async def {verb}_{word}(self):",  # something in front
    "    def {verb}_{word}(self) -> int:",  # something behind
]


def text(rng: random.Random, line: str) -> str:
    """A module with this line at some place."""
    lines = []
    for _ in range(rng.randrange(2, 6)):
        lines += [f"class {rng.choice(WORDS).title()}{rng.randrange(100)}:", "    pass", ""]
    lines.insert(rng.randrange(1, len(lines)), line)
    return "\n".join(lines) + "\n"


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write some 20 files; no two have the same name, and the name says nothing of the content."""
    rng = random.Random(f"t04_search_regex:{seed}")
    verbs = rng.sample(VERBS, 4)
    pattern = rf"^ +def ({verbs[0]}|{verbs[1]})_[a-z]+\(self\):$"
    count = rng.randrange(3, 7)
    found, others = [], []
    for index, number in enumerate(rng.sample(range(100, 1000), count + len(NEAR) + 5)):
        verb, word = rng.choice(verbs[:2]), rng.choice(WORDS)
        if index < count:
            verb = verbs[index % 2]  # both alternatives occur
            line = f"    def {verb}_{word}(self):"
        elif index < count + len(NEAR):
            line = NEAR[index - count].format(verb=verb, word=word, other=verbs[2])
        else:
            line = f"    def {rng.choice(verbs[2:])}_{word}(self, {rng.choice(WORDS)}):"
        # One at the top and one below, so that neither a search of the top alone nor one of the rest is enough.
        folder = {0: "", 1: "forms/old/unused"}.get(index, rng.choice(FOLDERS))
        path = f"{folder}/{word}_{number}.py".lstrip("/")
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(rng, line), encoding="utf-8", newline="\n")
        (found if index < count else others).append(path)
    return {"pattern": pattern, "found": sorted(found), "others": sorted(others)}
