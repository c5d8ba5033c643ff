"""Predicts the commoner label for every row."""

import re
import subprocess

from hemra_protocol import Trial


def execute_code(trial, code):
    """One call of the tool: a fresh Python runs the code in the workspace. Returns what it printed."""
    call = trial.call("execute_code", {"code": code})
    done = subprocess.run(
        ["python3", "-"], input=code, cwd=trial.workspace, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    trial.result(
        call, done.returncode == 0, {"status": "error" if done.returncode else "success", "output": output}
    )
    return output


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
