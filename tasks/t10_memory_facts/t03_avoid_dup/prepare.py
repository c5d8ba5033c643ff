"""Draws what the memory knows, and two facts of which it knows one."""

import pathlib
import random

KINDS = ["spectrometer", "balance", "thermocouple", "photometer", "gyroscope", "flowmeter", "hygrometer"]
NAMES = ["Altair", "Bellatrix", "Capella", "Deneb", "Fomalhaut", "Mira", "Rigel", "Spica", "Vega"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written: world.py puts the facts into the memory. A fact is (instrument, bench, offset)."""
    rng = random.Random(f"t10_memory_facts/t03_avoid_dup:{seed}")
    benches = [str(bench) for bench in rng.sample(range(11, 60), 5)]
    offsets = [f"{number / 1000:.3f}" for number in rng.sample([n for n in range(1001, 40_000) if n % 10], 5)]
    names, kinds = rng.sample(NAMES, 5), rng.sample(KINDS, 5)
    kind_of = dict(zip(names, kinds, strict=True))
    known, new, *others = ([*fact] for fact in zip(names, benches, offsets, strict=True))
    facts = [
        f"{name} {kind_of[name]}, bench {bench}: calibration offset {offset} mV"
        for name, bench, offset in (known, *others)
    ]
    rng.shuffle(facts)
    asked = [
        f"The {name} {kind_of[name]} stands on bench {bench}; its offset is {offset} mV."
        for name, bench, offset in (known, new)
    ]
    rng.shuffle(asked)
    return {
        "first": asked[0],
        "second": asked[1],
        "known": known,
        "new": new,
        "others": others,
        "facts": facts,
    }
