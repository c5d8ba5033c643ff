"""Draws the facts that an earlier session saved."""

import pathlib
import random

KINDS = ["spectrometer", "balance", "thermocouple", "photometer", "gyroscope", "flowmeter", "hygrometer"]
NAMES = ["Altair", "Bellatrix", "Capella", "Deneb", "Fomalhaut", "Mira", "Rigel", "Spica", "Vega"]
MONTHS = ["January", "March", "April", "June", "August", "October"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written: world.py puts the facts into the memory."""
    rng = random.Random(f"t10_memory_facts/t02_recall:{seed}")
    name, second, third = (
        f"{first} {kind}" for first, kind in zip(rng.sample(NAMES, 3), rng.sample(KINDS, 3), strict=True)
    )
    bench, other_bench = rng.sample(range(11, 60), 2)
    offsets = [f"{number / 1000:.3f}" for number in rng.sample([n for n in range(1001, 40_000) if n % 10], 4)]
    now, before, elsewhere, others = offsets
    month = rng.choice(MONTHS)
    facts = [
        f"{name}, bench {bench}: calibration offset {now} mV (new since {month}; it was {before} mV until then)",
        f"{name}, bench {other_bench}: calibration offset {elsewhere} mV",
        f"{second}, bench {bench}: calibration offset {others} mV",
        f"The {third} is out for repair; ask the workshop before booking bench {other_bench}.",
        "The user wants measurements with their unit, and no greetings.",
    ]
    rng.shuffle(facts)
    return {
        "name": name,
        "bench": bench,
        "offset": now,
        "others": [before, elsewhere, others],
        "facts": facts,
    }
