"""Reads the module, patches the guard into divide, and runs it."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")


def patch(path, old, new):
    """Replace the only occurrence of a text, as a call of the tool `patch`."""
    call = trial.call("patch", {"mode": "replace", "path": path, "old_string": old, "new_string": new})
    file = pathlib.Path(trial.workspace, path)
    before = file.read_text(encoding="utf-8")
    if before.count(old) != 1:
        trial.result(call, False, {"error": f"old_string occurs {before.count(old)} times"})
        return
    file.write_text(before.replace(old, new), encoding="utf-8", newline="\n")
    trial.result(call, True, {"success": True, "files_modified": [path]})


message = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I read the module.")
trial.read_file("broken_divide.py")
trial.message("I put the guard in front of the division.")
patch(
    "broken_divide.py",
    "    return a / b * FACTOR\n",
    f'    if b == 0:\n        raise ValueError("{message}")\n    return a / b * FACTOR\n',
)
trial.message("I try it.")
trial.terminal("python3 -B -c 'import broken_divide; broken_divide.divide(1, 0.0)' 2>&1 | tail -n 1")
trial.final("divide now raises a ValueError when b is zero.")
