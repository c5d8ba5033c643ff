"""Catches the error in the second call, so that it does not fail, and says it in other words."""

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


trial = Trial("right", "1")
first = "import sys\nsys.path.insert(0, '.')\nimport token_source\nx = token_source.draw()\nprint(x)"
token = execute_code(trial, first).strip()
printed = execute_code(
    trial, "try:\n    print('x =', x)\nexcept NameError as error:\n    print('NameError:', error)"
)
state = "kept" if token in printed else "lost: the state does not persist between calls"
trial.final(f"Value: {token}\n\nVerdict: {state}.")
