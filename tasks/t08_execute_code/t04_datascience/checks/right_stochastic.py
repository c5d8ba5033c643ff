"""Trains row by row in shuffled order, with a little weight decay, and reports per cent."""

import re

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = r"""
import csv, math, random

random.seed(7)
rows = list(csv.DictReader(open("data.csv", newline="")))
names = ("x1", "x2", "x3")
train = [([float(row[n]) for n in names], int(row["label"])) for row in rows if row["split"] == "train"]
means = [sum(x[i] for x, _ in train) / len(train) for i in range(3)]
weights, intercept = [0.0, 0.0, 0.0], 0.0
for turn in range(60):
    random.shuffle(train)
    rate = 0.2 / (1 + turn)
    for x, label in train:
        z = intercept + sum(w * (v - m) for w, v, m in zip(weights, x, means))
        error = 1 / (1 + math.exp(-max(-30, min(30, z)))) - label
        intercept -= rate * error
        weights = [w * (1 - 0.0001) - rate * error * (v - m) for w, v, m in zip(weights, x, means)]
test = [row for row in rows if row["split"] == "test"]
right = 0
with open("predictions.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "label"])
    for row in test:
        z = intercept + sum(w * (float(row[n]) - m) for w, n, m in zip(weights, names, means))
        writer.writerow([row["id"], int(z > 0)])
        right += int(z > 0) == int(row["label"])
print("right:", right, "share:", right / len(test))
"""
trial = Trial("right", "1")
share = float(re.search(r"share: ([\d.]+)", execute_code(trial, CODE)).group(1))
trial.final(f"Test accuracy: **{100 * share:.1f} %**")
