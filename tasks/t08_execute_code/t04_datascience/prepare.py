"""Draws a rule, rows that keep clear of its border, and labels of which some are turned round."""

import pathlib
import random

TRAIN, TEST = 240, 120


def draw_rule(rng: random.Random) -> list[float]:
    """Three weights and an intercept; the border runs near the middle of the rows, not through the origin."""
    weights = [rng.choice((-1, 1)) * rng.uniform(0.8, 1.6) for _ in range(3)]
    return [*weights, -(1.0 * weights[0] - 0.5 * weights[1]) + rng.uniform(-0.3, 0.3)]


def draw_row(rng: random.Random, rule: list[float]) -> tuple[list[float], int]:
    """Features with three decimals, at some distance from the border, and the label by the rule."""
    while True:
        x = [round(rng.gauss(1, 1), 3), round(rng.gauss(-0.5, 1), 3), round(rng.gauss(0, 1), 3)]
        score = sum(weight * value for weight, value in zip(rule, x, strict=False)) + rule[3]
        if abs(score) > 0.6:
            return x, int(score > 0)


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write data.csv. The labels by the rule and those in the file are kept for the test rows."""
    rng = random.Random(f"t08_execute_code/t04_datascience:{seed}")
    while True:
        rule = draw_rule(rng)
        rows = [draw_row(rng, rule) for _ in range(TRAIN + TEST)]
        share = sum(label for _, label in rows[:TRAIN]) / TRAIN
        if 0.35 < share < 0.65 and share != 0.5:
            break
    noisy = {*rng.sample(range(TRAIN), rng.randrange(7, 13))}
    noisy |= {*rng.sample(range(TRAIN, TRAIN + TEST), rng.randrange(10, 22))}
    ids = rng.sample(range(1000, 10_000), TRAIN + TEST)
    lines, test = [], []
    for index, (x, label) in enumerate(rows):
        told = 1 - label if index in noisy else label
        split = "train" if index < TRAIN else "test"
        lines.append(",".join([str(ids[index]), split, *(f"{value:.3f}" for value in x), str(told)]))
        if split == "test":
            test.append((ids[index], label, told))
    rng.shuffle(lines)
    text = "\n".join(["id,split,x1,x2,x3,label", *lines]) + "\n"
    (workspace / "data.csv").write_text(text, encoding="utf-8", newline="\n")
    return {
        "rows": TRAIN + TEST,
        "test_ids": [each[0] for each in test],
        "by_the_rule": "".join(str(each[1]) for each in test),
        "in_the_file": "".join(str(each[2]) for each in test),
    }
