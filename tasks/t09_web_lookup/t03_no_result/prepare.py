"""Draws three codes, one of which occurs on no page, and the pages with the others and with near misses."""

import pathlib
import random

WORDS = [
    "Brindle",
    "Crumpet",
    "Dapple",
    "Flannel",
    "Gusset",
    "Jumble",
    "Kettle",
    "Mitten",
    "Pebble",
    "Thimble",
]
TITLES = ["Notes", "Minutes", "Report", "Letter", "Stock list", "Sketch", "Diary"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the pages into `corpus`, which becomes the web of the trial."""
    rng = random.Random(f"t09_web_no_result:{seed}")
    words = rng.sample(WORDS, 10)
    codes = [f"{word}-{''.join(rng.sample('123456789', 5))}" for word in words[:3]]
    names = [f"{rng.choice(['archive', 'desk', 'shelf'])}/{n}.html" for n in rng.sample(range(100, 1000), 9)]
    held = {name: [f"{rng.choice(words[3:])}-{rng.randrange(10_000, 100_000)}"] for name in names}
    places = {codes[0]: names[:1], codes[1]: names[1:3], codes[2]: []}
    for number, code in enumerate(codes):
        for name in places[code]:
            held[name].append(code)
        held[names[3 + number]].append(code[:-2] + code[-1] + code[-2])
        held[names[6 + number]].append(code[:-1])
    for name, found in held.items():
        rng.shuffle(found)
        title = f"{rng.choice(TITLES)} {rng.randrange(10, 100)}"
        text = f"<html><head><title>{title}</title></head><body><p>In store: {', '.join(found)}.</p></body></html>\n"
        file = workspace / "corpus" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    first, second, third = rng.sample(codes, 3)
    return {
        "web_corpus": "corpus",
        "first": first,
        "second": second,
        "third": third,
        "places": {code: sorted(f"/{name}" for name in found) for code, found in places.items()},
    }
