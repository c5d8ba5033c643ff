"""Reads the file and patches the second line, with enough context to be unique."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")


def patch(path, old, new):
    """Replace the only occurrence of a text, as a call of the tool `patch`. Returns whether that worked."""
    call = trial.call("patch", {"mode": "replace", "path": path, "old_string": old, "new_string": new})
    file = pathlib.Path(trial.workspace, path)
    before = file.read_text(encoding="utf-8")
    if before.count(old) != 1:
        trial.result(call, False, {"error": f"old_string occurs {before.count(old)} times"})
        return False
    file.write_text(before.replace(old, new), encoding="utf-8", newline="\n")
    trial.result(call, True, {"success": True, "files_modified": [path]})
    return True


old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.message("I read the file.")
source = trial.read_file("dup_strings.py")
trial.message("I try with the line alone.")
if not patch("dup_strings.py", old, new):
    trial.message("That occurs twice. I take the title of the second section with it.")
    title = re.findall(r"^# .*$", source, re.MULTILINE)[1]
    block = source[source.index(title) : source.rindex(old)]
    patch("dup_strings.py", block + old, block + new)
trial.final(f"The second line is {new} now.")
