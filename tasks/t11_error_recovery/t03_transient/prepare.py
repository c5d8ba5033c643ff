"""Draws the code, and how often the server refuses before it tells it."""

import json
import pathlib
import random

WORDS = ["basalt", "chalk", "flint", "gneiss", "granite", "jasper", "marble", "quartz", "slate", "topaz"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the routes into `corpus`, which becomes the web of the trial."""
    rng = random.Random(f"t11_transient:{seed}")
    name, word = rng.sample(WORDS, 2)
    refusals, code = rng.randrange(1, 3), f"{word}-{rng.randrange(100_000, 1_000_000)}"
    corpus = workspace / "corpus"
    corpus.mkdir()
    page = {"text": f"The code of the day is {code}.\n", "fail_times": refusals, "fail_status": 503}
    routes = {"pages": {f"/today/{name}": page}, "search": None}
    (corpus / "routes.json").write_text(json.dumps(routes), encoding="utf-8")
    return {"web_corpus": "corpus", "name": name, "code": code, "refusals": refusals}
