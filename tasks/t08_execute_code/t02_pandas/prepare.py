"""Draws the rows of data.csv."""

import csv
import io
import pathlib
import random

WORDS = [
    "books",
    "cables",
    "flowers",
    "garden",
    "kitchen",
    "lamps",
    "paper",
    "paint",
    "tools",
    "toys",
    "wool",
]
NOTES = ["paid", "late, reminded", 'marked "urgent"', "", "two parcels, one lost", "cash", "see letter"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the file. Sums are kept in cents, as whole numbers."""
    rng = random.Random(f"t08_execute_code/t02_pandas:{seed}")
    names = rng.sample(WORDS, 5)
    while True:
        rows = []
        for number in range(1, rng.randrange(280, 360)):
            cents = None if rng.random() < 0.06 else rng.randrange(-2_000, 90_000)
            rows.append((number, rng.choice(names), rng.choice(NOTES), cents, rng.randrange(1, 9)))
        sums = {name: sum(row[3] or 0 for row in rows if row[1] == name) for name in names}
        if len(set(sums.values())) == len(names) and min(sums.values()) > 100_000:
            break
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "category", "note", "value", "quantity"])
    for number, name, note, cents, quantity in rows:
        writer.writerow([number, name, note, "" if cents is None else f"{cents / 100:.2f}", quantity])
    (workspace / "data.csv").write_text(out.getvalue(), encoding="utf-8", newline="\n")
    return {"cents": sums}
