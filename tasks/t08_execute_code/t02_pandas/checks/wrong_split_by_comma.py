"""Splits lines at commas: rows whose note holds a comma are lost."""

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
sums = {}
for line in open("data.csv").read().splitlines()[1:]:
    cells = line.split(",")
    if len(cells) == 5:
        sums[cells[1]] = sums.get(cells[1], 0) + round(100 * float(cells[3] or 0))
for name, cents in sums.items():
    print(f"{name}: {cents / 100:.2f}")
"""
trial = Trial("wrong", "1")
trial.final(execute_code(trial, CODE))
