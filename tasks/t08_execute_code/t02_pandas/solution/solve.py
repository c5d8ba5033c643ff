"""Sums with the csv module, in cents."""

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
