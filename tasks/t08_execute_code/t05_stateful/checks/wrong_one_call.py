"""Does both in one call and never looks from a second one."""

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
first = (
    "import sys; sys.path.insert(0, '.')\nimport token_source; x = token_source.draw(); print(x)\nprint(x)"
)
token = execute_code(trial, first).split()[0]
trial.final(f"{token}: lost")
