"""Sums floats as pandas does, prints all their digits, and answers with a table."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
import csv
sums = {}
for row in csv.DictReader(open("data.csv", newline="")):
    sums[row["category"]] = sums.get(row["category"], 0.0) + (float(row["value"]) if row["value"] else 0.0)
print("category")
for name in sorted(sums):
    print(name.ljust(10), sums[name])
"""
trial = Trial("right", "1")
printed = execute_code(trial, CODE)
rows = [
    f"| {name} | **{float(total):,.2f}** |" for name, total in re.findall(r"^(\w+) +([\d.]+)$", printed, re.M)
]
trial.final("| category | sum |\n|---|---:|\n" + "\n".join(rows))
