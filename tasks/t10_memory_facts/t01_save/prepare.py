"""Draws the fact."""

import pathlib
import random

KINDS = ["spectrometer", "balance", "thermocouple", "photometer", "gyroscope", "flowmeter", "hygrometer"]
NAMES = ["Altair", "Bellatrix", "Capella", "Deneb", "Fomalhaut", "Mira", "Rigel", "Spica", "Vega"]
UNITS = ["mV", "mK", "mg", "Pa", "nm", "kHz"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written: the memory begins empty."""
    rng = random.Random(f"t10_memory_facts/t01_save:{seed}")
    name = rng.choice(NAMES)
    return {
        "instrument": f"{name} {rng.choice(KINDS)}",
        "name": name,
        "bench": rng.randrange(11, 60),
        "offset": f"{rng.randrange(1, 40)}.{rng.randrange(101, 1000) // 10 * 10 + rng.randrange(1, 10)}",
        "unit": rng.choice(UNITS),
    }
