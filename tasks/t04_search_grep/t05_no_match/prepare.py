"""Draws three codes, one of which occurs nowhere, near misses of all of them, and the files they stand in."""

import pathlib
import random

WORDS = ["Acacia", "Bamboo", "Cypress", "Dogwood", "Ebony", "Fir", "Ginkgo", "Hickory", "Larch", "Mahogany"]
FOLDERS = ["", "inbox", "inbox/late", "log", "log/year/month", "shelf"]
NAMES = ["carp", "eel", "hake", "ling", "perch", "pike", "roach", "sole", "tench", "trout"]
ENDINGS = [".csv", ".log", ".md", ".txt"]


def near(code: str) -> list[str]:
    """Codes that differ in the last digit, in the case, in the order of two digits, and in the sign between."""
    word, number = code.split("-")
    last = (int(number[-1]) + 5) % 10
    return [
        f"{word}-{number[:-1]}{last}",
        code.lower(),
        f"{word}-{number[1]}{number[0]}{number[2:]}",
        f"{word}_{number}",
    ]


def number(rng: random.Random) -> str:
    """Five digits, no two of them alike."""
    return "".join(rng.sample("123456789", 5))


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write some 16 files; one code stands in one of them, one in two, one in none."""
    rng = random.Random(f"t04_search_no_match:{seed}")
    codes = [f"{word}-{number(rng)}" for word in rng.sample(WORDS, 3)]
    stems = [f"{rng.choice(NAMES)}_{number}" for number in rng.sample(range(100, 1000), 16)]
    paths = [f"{rng.choice(FOLDERS)}/{stem}{rng.choice(ENDINGS)}".lstrip("/") for stem in stems]
    places = {codes[0]: sorted(paths[:1]), codes[1]: sorted(paths[1:3]), codes[2]: []}
    misses = [miss for code in codes for miss in near(code)]
    words = [word for word in WORDS if not any(code.startswith(word) for code in codes)]
    for index, path in enumerate(paths):
        lines = [
            f"{rng.choice(words)}-{number(rng)} {rng.randrange(100)}" for _ in range(rng.randrange(3, 9))
        ]
        own = [code for code in codes if path in places[code]]
        own.append(misses[index % len(misses)])
        for code in own:
            lines.insert(rng.randrange(len(lines) + 1), f"{code} {rng.randrange(100)}")
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    first, second, third = rng.sample(codes, 3)
    return {"first": first, "second": second, "third": third, "places": places, "files": sorted(paths)}
