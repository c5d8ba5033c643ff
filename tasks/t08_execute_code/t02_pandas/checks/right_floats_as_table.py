"""Sums floats as pandas does, prints all their digits, and answers with a table."""

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
    sums[row["category"]] = sums.get(row["category"], 0.0) + (float(row["value"]) if row["value"] else 0.0)
print("category")
for name in sorted(sums):
    print(name.ljust(10), sums[name])
"""
trial = Trial("right", "1")
printed = execute_code(trial, CODE)
rows = [
    f"| {name} | **{float(total):,.2f}** |" for name, total in re.findall(r"^(\w+) +([\d.]+)$", printed, re.M)
]
trial.final("| category | sum |\n|---|---:|\n" + "\n".join(rows))
