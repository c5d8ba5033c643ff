"""Sums with the csv module, in cents."""

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
import csv, collections, decimal
sums = collections.Counter()
with open("data.csv", newline="") as file:
    for row in csv.DictReader(file):
        sums[row["category"]] += decimal.Decimal(row["value"] or 0)
for name, total in sorted(sums.items()):
    print(f"{name}: {total:.2f}")
"""
trial = Trial("solution", "1")
trial.message("I group and sum with the csv module.")
trial.final(execute_code(trial, CODE).strip())
