"""Draws a country, its capital, and cities that are not; writes the pages about them."""

import pathlib
import random

HEADS = [
    "Bel",
    "Cor",
    "Dar",
    "Fen",
    "Gal",
    "Hes",
    "Ith",
    "Kol",
    "Lor",
    "Mer",
    "Nor",
    "Ost",
    "Pel",
    "Ruv",
    "Sar",
    "Tov",
]
LANDS = ["andia", "estra", "imora", "ovia", "undal", "avaria"]
CITIES = ["burg", "dam", "haven", "kirk", "lund", "mond", "stad", "wick", "zell"]
PAGE = """<!doctype html>
<html>
<head><title>{title}</title></head>
<body>
<p>{text}</p>
<p>{more}</p>
</body>
</html>
"""


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the pages into `corpus`, which becomes the web of the trial."""
    rng = random.Random(f"t09_web_search:{seed}")
    lands = [f"{head}{rng.choice(LANDS)}" for head in rng.sample(HEADS, 6)]
    heads = rng.sample(HEADS, 12)
    cities = [f"{head}{rng.choice('aeiou')}{rng.choice(CITIES)}" for head in heads]
    country, (capital, former, refused, minor) = lands[0], cities[:4]
    year = rng.randrange(1930, 2005)
    pages = {
        f"atlas/{country.lower()}-{rng.randrange(100, 1000)}": (
            f"{country} in the atlas",
            f"Since {year} the capital of {country} has been {capital}.",
            f"The country has {rng.randrange(2, 90)} million inhabitants.",
        ),
        f"history/{country.lower()}-{rng.randrange(100, 1000)}": (
            f"{country} in former times",
            f"Until {year} the capital of {country} was {former}.",
            "Its old mint can still be seen.",
        ),
        f"news/{country.lower()}-{rng.randrange(100, 1000)}": (
            f"{country}: parliament votes",
            f"The parliament of {country} has refused to make {refused} the capital.",
            "The vote was close.",
        ),
        f"atlas/{country.lower()}-minor-{rng.randrange(100, 1000)}": (
            f"{country} Minor in the atlas",
            f"The capital of {country} Minor, an island state, is {minor}.",
            "It lies far from the mainland.",
        ),
    }
    for land, city in zip(lands[1:], cities[4:], strict=False):
        pages[f"atlas/{land.lower()}-{rng.randrange(100, 1000)}"] = (
            f"{land} in the atlas",
            f"Since {rng.randrange(1900, 2005)} the capital of {land} has been {city}.",
            f"The country has {rng.randrange(2, 90)} million inhabitants.",
        )
    for path, (title, text, more) in pages.items():
        file = workspace / "corpus" / f"{path}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(title=title, text=text, more=more), encoding="utf-8", newline="\n")
    return {
        "web_corpus": "corpus",
        "country": country,
        "capital": capital,
        "others": {
            former: "the former capital",
            refused: "a city that was refused",
            minor: "that of another country",
        },
        "page": f"/{next(iter(pages))}.html",
    }
