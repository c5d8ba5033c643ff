"""Draws the records, and which of them is asked for."""

import pathlib
import random

WORDS = [
    "amber",
    "basil",
    "cobalt",
    "dahlia",
    "elder",
    "fennel",
    "ginger",
    "hazel",
    "indigo",
    "juniper",
    "lilac",
]
WORDS += [
    "maple",
    "nettle",
    "ochre",
    "poppy",
    "quince",
    "russet",
    "saffron",
    "teal",
    "umber",
    "violet",
    "willow",
]

PROBE = '''"""Takes readings: `measure()` gives them as one document."""

import sys

MODULUS = {modulus}
ROWS = {rows}


def _reading(key):
    """Every value comes out of a computation; none stands here."""
    return 100_000 + pow(key, 65_537, MODULUS) % 900_000


def measure():
    print("warning: sensor x drifts, x =", _reading({noise}), file=sys.stderr)
    records = []
    for name, state, key in ROWS:
        reading = {{"y": _reading(key + 1), "x": _reading(key), "unit": "um"}}
        records.append({{"name": name, "reading": reading, "state": state}})
    return {{"x": _reading({top}), "count": len(records), "records": records}}
'''


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write probe.py; the name that is asked for stands in two records, of which one is out of date."""
    rng = random.Random(f"t06_process_mgmt/t04_pipeline:{seed}")
    modulus = 2_147_483_647

    def reading(key: int) -> int:
        return 100_000 + pow(key, 65_537, modulus) % 900_000

    names = rng.sample(WORDS, 18)
    name = rng.choice(names)
    while True:
        rows = [(each, "current", rng.randrange(10**6, 10**9)) for each in names]
        rows += [
            (each, "retired", rng.randrange(10**6, 10**9)) for each in {name: 0, **dict.fromkeys(names[:5])}
        ]
        noise, top = rng.randrange(10**6, 10**9), rng.randrange(10**6, 10**9)
        keys = [noise, top, *(row[2] for row in rows), *(row[2] + 1 for row in rows)]
        if len({reading(key) for key in keys}) == len(keys):
            break
    rng.shuffle(rows)
    listed = "[\n" + "".join(f'    ("{each}", "{state}", {key}),\n' for each, state, key in rows) + "]"
    text = PROBE.format(modulus=modulus, rows=listed, noise=noise, top=top)
    (workspace / "probe.py").write_text(text, encoding="utf-8", newline="\n")
    x = next(reading(key) for each, state, key in rows if (each, state) == (name, "current"))
    others = sorted({reading(key) for key in keys} - {x})
    return {"name": name, "x": x, "others": others}
