"""Draws the three lines; all characters are in their usual composed form (NFC)."""

import pathlib
import random
import unicodedata

JAPANESE = [
    "日本語のテスト",
    "こんにちは世界",
    "朝の市場",
    "静かな図書館",
    "桜と電車",
    "カメラと地図",
    "雨の高速道路",
    "ありがとう",
]
ACCENTED = [
    "naïve",
    "café",
    "résumé",
    "über",
    "señor",
    "façade",
    "smörgåsbord",
    "jalapeño",
    "crème brûlée",
    "Øresund",
]
AFTER = ["Abflug für alle", "le départ à l'été", "adiós, señores", "på väg hem", "até amanhã", "před půlnocí"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write nothing; the numbers make the lines such that nobody knows them before."""
    rng = random.Random(f"t05_write_unicode:{seed}")
    lines = {
        "japanese": f"{rng.choice(JAPANESE)}、{rng.randrange(1000, 10_000)}番",
        "emoji": f"\U0001f680 {rng.randrange(1000, 10_000)} \U0001f680\U0001f680",
        "accented": f"{rng.choice(ACCENTED)} {rng.choice(AFTER)} {rng.randrange(1000, 10_000)}",
    }
    return {name: unicodedata.normalize("NFC", line) for name, line in lines.items()}
