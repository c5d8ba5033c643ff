"""Prints and answers with one JSON object."""

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
import csv, json
sums = {}
for row in csv.DictReader(open("data.csv", newline="")):
    sums[row["category"]] = sums.get(row["category"], 0) + round(100 * float(row["value"] or 0))
print(json.dumps({name: cents / 100 for name, cents in sums.items()}))
"""
trial = Trial("right", "1")
trial.final(execute_code(trial, CODE))
