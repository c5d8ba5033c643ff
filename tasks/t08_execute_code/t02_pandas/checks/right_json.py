"""Prints and answers with one JSON object."""

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
import csv, json
sums = {}
for row in csv.DictReader(open("data.csv", newline="")):
    sums[row["category"]] = sums.get(row["category"], 0) + round(100 * float(row["value"] or 0))
print(json.dumps({name: cents / 100 for name, cents in sums.items()}))
"""
trial = Trial("right", "1")
trial.final(execute_code(trial, CODE))
