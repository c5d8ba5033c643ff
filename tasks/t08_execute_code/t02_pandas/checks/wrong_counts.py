"""Counts the rows of each category instead of summing."""

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = """
import csv, collections
counts = collections.Counter(row["category"] for row in csv.DictReader(open("data.csv", newline="")))
for name, count in counts.items():
    print(f"{name}: {count}.00")
"""
trial = Trial("wrong", "1")
trial.final(execute_code(trial, CODE))
