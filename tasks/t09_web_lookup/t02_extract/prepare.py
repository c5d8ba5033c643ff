"""Draws what the article says and writes its page."""

import json
import pathlib
import random

NAMES = ["Alder", "Birch", "Cherry", "Elm", "Hazel", "Linden", "Maple", "Poplar", "Rowan", "Willow"]
PEOPLE = [
    "Ada Winter",
    "Béla Moss",
    "Cleo Hartmann",
    "Dana O\u2019Neil",
    "Emil Sørensen",
    "Finn Castell",
    "Gerda Voss",
]
PLACES = ["the harbour", "the old mill", "the northern gate", "the salt works", "the upper market"]
KINDS = [("bridge", "crosses"), ("lift", "climbs"), ("tunnel", "passes under"), ("tramway", "follows")]
TIMES = ["hour", "day", "week"]
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{name}</title>
<meta name="description" content="{name}, by {person}: a {kind} at {place}, {passengers} people a {time}.">
<style>p {{ margin: 1em }}</style>
</head>
<body>
<nav><ul><li><a href="/">Start</a></li><li><a href="/search?q=wiki">Search</a></li></ul></nav>
<h1>{name}</h1>
<table>
<tr><th>Built</th><td>{year}</td></tr>
<tr><th>Length</th><td>{length} m</td></tr>
<tr><th>Passengers</th><td>{passengers} a {time}</td></tr>
</table>
<p>{first}</p>
<p>{second}</p>
<h2>Later years</h2>
<p>{third}</p>
</body>
</html>
"""


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write page and routes into `corpus`, which becomes the web of the trial."""
    rng = random.Random(f"t09_web_extract:{seed}")
    tree, (kind, does), person, other = rng.choice(NAMES), rng.choice(KINDS), *rng.sample(PEOPLE, 2)
    place, year, length = rng.choice(PLACES), rng.randrange(1850, 1990), rng.randrange(120, 990)
    passengers, repaired, time = rng.randrange(100, 990), rng.randrange(3, 30), rng.choice(TIMES)
    name = f"{tree} {kind}"
    first = (
        f'The <b>{name}</b> is a {kind} that {does} the river near <a href="/wiki/places">{place}</a>. '
        f"<i>{person}</i> built it in {year} &amp; {year + 2}; it is {length} metres long, serves {passengers} people "
        f"every {time}, and has been repaired {repaired} times."
    )
    second = (
        f"It replaced a ferry of {year - rng.randrange(20, 60)}. The plans of {other}, who wanted it "
        f"{length + rng.randrange(5, 60)} metres long, were never carried out."
    )
    third = f"In {year + rng.randrange(5, 30)} it was closed for {rng.randrange(3, 90)} days."
    page = PAGE.format(
        name=name,
        kind=kind,
        place=place,
        person=person,
        year=year,
        length=length,
        passengers=passengers,
        time=time,
        first=first,
        second=second,
        third=third,
    )
    topic = f"{tree.lower()}-{kind}-{rng.randrange(100, 1000)}"
    corpus = workspace / "corpus"
    corpus.mkdir()
    (corpus / "article.html").write_text(page, encoding="utf-8", newline="\n")
    routes = {"pages": {f"/wiki/{topic}": {"file": "article.html", "delay_seconds": 0.5}}}
    (corpus / "routes.json").write_text(json.dumps(routes), encoding="utf-8")
    return {"web_corpus": "corpus", "topic": topic, "first": first, "second": second, "third": third}
