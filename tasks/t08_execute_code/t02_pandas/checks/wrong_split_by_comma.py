"""Splits lines at commas: rows whose note holds a comma are lost."""

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
sums = {}
for line in open("data.csv").read().splitlines()[1:]:
    cells = line.split(",")
    if len(cells) == 5:
        sums[cells[1]] = sums.get(cells[1], 0) + round(100 * float(cells[3] or 0))
for name, cents in sums.items():
    print(f"{name}: {cents / 100:.2f}")
"""
trial = Trial("wrong", "1")
trial.final(execute_code(trial, CODE))
