"""Predicts the commoner label for every row."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = r"""
import csv
rows = list(csv.DictReader(open("data.csv", newline="")))
train = [int(row["label"]) for row in rows if row["split"] == "train"]
most = int(sum(train) * 2 > len(train))
test = [row for row in rows if row["split"] == "test"]
with open("predictions.csv", "w") as file:
    print("id,label", *(f"{row['id']},{most}" for row in test), sep="\n", file=file)
print("accuracy", sum(int(row["label"]) == most for row in test) / len(test))
"""
trial = Trial("wrong", "1")
share = float(re.search(r"accuracy ([\d.]+)", execute_code(trial, CODE)).group(1))
trial.final(f"The accuracy is {share:.3f}.")
