"""All sums are right and stand beside the wrong names."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
import csv
sums = {}
for row in csv.DictReader(open("data.csv", newline="")):
    sums[row["category"]] = sums.get(row["category"], 0) + round(100 * float(row["value"] or 0))
for name, cents in sums.items():
    print(f"{name}: {cents / 100:.2f}")
"""
trial = Trial("wrong", "1")
pairs = re.findall(r"(\w+): ([\d.]+)", execute_code(trial, CODE))
names, totals = zip(*pairs, strict=True)
trial.final("\n".join(f"{name}: {total}" for name, total in zip(names, totals[1:] + totals[:1], strict=True)))
