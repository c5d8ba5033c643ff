"""Trains on the first feature alone."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = r"""
import csv, math
rows = list(csv.DictReader(open("data.csv", newline="")))
train = [(float(row["x1"]), int(row["label"])) for row in rows if row["split"] == "train"]
weight = intercept = 0.0
for _ in range(500):
    errors = [(1 / (1 + math.exp(-intercept - weight * x)) - label, x) for x, label in train]
    intercept -= 0.5 * sum(error for error, x in errors) / len(train)
    weight -= 0.5 * sum(error * x for error, x in errors) / len(train)
test = [row for row in rows if row["split"] == "test"]
guess = {row["id"]: int(intercept + weight * float(row["x1"]) > 0) for row in test}
with open("predictions.csv", "w") as file:
    print("id,label", *(f"{id},{label}" for id, label in guess.items()), sep="\n", file=file)
print("accuracy", sum(int(row["label"]) == guess[row["id"]] for row in test) / len(test))
"""
trial = Trial("wrong", "1")
share = float(re.search(r"accuracy ([\d.]+)", execute_code(trial, CODE)).group(1))
trial.final(f"The accuracy is {share:.3f}.")
