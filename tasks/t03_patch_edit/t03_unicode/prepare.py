"""Draws lines in several scripts, a greeting, and the globe that is to be appended."""

import pathlib
import random

GLOBES = {
    "\U0001f30d": "the globe that shows Europe and Africa",
    "\U0001f30e": "the globe that shows the Americas",
    "\U0001f30f": "the globe that shows Asia and Australia",
    "\U0001f310": "the globe with meridians",
}
GREETINGS = ["Grüße an", "Olá", "Γεια σου", "Привет", "Dzień dobry", "¡Hola", "Merhaba", "Здраво"]
NAMES = ["Zoë", "Søren", "Łucja", "Ángel", "Jürgen", "Çağla", "Noémie", "Åsa", "Živa", "Ķirsis"]
LINES = [
    "東京の朝",
    "καλή αρχή",
    "доброе утро",
    "naïve café",
    "señal única",
    "smörgåsbord",
    "早安",
    "좋은 아침",
]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write hello.txt: four to six lines, one of which has a globe already, then the greeting."""
    rng = random.Random(f"t03_patch_unicode:{seed}")
    globe, other = rng.sample(sorted(GLOBES), 2)
    lines = [f"{text} {rng.randrange(100, 1000)}" for text in rng.sample(LINES, rng.randrange(3, 6))]
    lines.insert(rng.randrange(len(lines)), f"{rng.choice(LINES)} {other}")
    lines.append(f"{rng.choice(GREETINGS)} {rng.choice(NAMES)} {rng.randrange(1000, 10_000)}")
    text = "\n".join(lines)
    (workspace / "hello.txt").write_text(text + "\n", encoding="utf-8", newline="\n")
    return {"globe": globe, "globe_name": GLOBES[globe], "text": text}
