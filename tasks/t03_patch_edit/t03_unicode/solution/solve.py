"""Reads the file and patches its last line."""

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


globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.message("I read the file.")
last = trial.read_file("hello.txt").splitlines()[-1]
trial.message("I append the globe to its last line.")
patch("hello.txt", last, f"{last} {globe}")
trial.final(f"hello.txt ends with {globe}.")
