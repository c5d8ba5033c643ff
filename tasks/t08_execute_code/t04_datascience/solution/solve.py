"""Trains by gradient descent, in a few lines of plain Python."""

from hemra_protocol import Trial
from hemra_tools import execute_code

CODE = r"""
import csv, math

rows = list(csv.DictReader(open("data.csv", newline="")))
train = [row for row in rows if row["split"] == "train"]
test = [row for row in rows if row["split"] == "test"]


def features(row):
    return [1.0, float(row["x1"]), float(row["x2"]), float(row["x3"])]


def score(weights, x):
    return sum(w * value for w, value in zip(weights, x))


data = [(features(row), int(row["label"])) for row in train]
weights = [0.0] * 4
for _ in range(400):
    slope = [0.0] * 4
    for x, label in data:
        error = 1 / (1 + math.exp(-score(weights, x))) - label
        slope = [s + error * value for s, value in zip(slope, x)]
    weights = [w - 0.5 * s / len(data) for w, s in zip(weights, slope)]

predicted = {row["id"]: int(score(weights, features(row)) > 0) for row in test}
with open("predictions.csv", "w") as file:
    print("id,label", *(f"{id},{label}" for id, label in predicted.items()), sep="\n", file=file)
right = sum(predicted[row["id"]] == int(row["label"]) for row in test)
print(f"accuracy on {len(test)} test rows: {right / len(test):.3f}")
"""
trial = Trial("solution", "1")
trial.message("I train a logistic regression.")
printed = execute_code(trial, CODE)
trial.final("The accuracy on the test rows is " + printed.split()[-1] + ".")
