"""Forgets that the upper bound is included."""

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


trial = Trial("wrong", "1")
first, last = re.search(r"from (\d+) to (\d+)", trial.instruction).groups()
left_out = re.search(r"divisible by (\d+)", trial.instruction).group(1)
trial.final(execute_code(trial, f"print(sum(n * n for n in range({first}, {last}) if n % {left_out}))"))
