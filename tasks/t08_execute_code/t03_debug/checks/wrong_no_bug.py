"""Runs it and says that nothing is wrong."""

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
number = re.search(r"factorial\((\d+)\)", trial.instruction).group(1)
before = execute_code(
    trial, f"import runpy\nprint(runpy.run_path('buggy.py')['factorial']({number}))"
).strip()
trial.final(f"factorial({number}) gave {before}. I found no bug in any line.")
