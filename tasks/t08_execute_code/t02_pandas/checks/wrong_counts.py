"""Counts the rows of each category instead of summing."""

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
import csv, collections
counts = collections.Counter(row["category"] for row in csv.DictReader(open("data.csv", newline="")))
for name, count in counts.items():
    print(f"{name}: {count}.00")
"""
trial = Trial("wrong", "1")
trial.final(execute_code(trial, CODE))
