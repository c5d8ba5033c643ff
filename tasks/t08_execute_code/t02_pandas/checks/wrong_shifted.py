"""All sums are right and stand beside the wrong names."""

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


CODE = """
import csv
sums = {}
for row in csv.DictReader(open("data.csv", newline="")):
    sums[row["category"]] = sums.get(row["category"], 0) + round(100 * float(row["value"] or 0))
for name, cents in sums.items():
    print(f"{name}: {cents / 100:.2f}")
"""
trial = Trial("wrong", "1")
pairs = re.findall(r"(\w+): ([\d.]+)", execute_code(trial, CODE))
names, totals = zip(*pairs, strict=True)
trial.final("\n".join(f"{name}: {total}" for name, total in zip(names, totals[1:] + totals[:1], strict=True)))
