"""Reads, is refused for a patch that fits three times, and takes the name of the class with it."""

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


old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

trial.message("I read the file.")
source = trial.read_file("multi.py")
trial.message("I try with the line alone.")
if not patch("multi.py", f'        return "{old}"', f'        return "{new}"'):
    trial.message("That occurs three times. I take everything from the second class on with it.")
    name = re.findall(r"^class .*$", source, re.MULTILINE)[1]
    begin = source.index(name)
    block = source[begin : source.index(f'return "{old}"', begin)]
    patch("multi.py", f'{block}return "{old}"', f'{block}return "{new}"')
trial.final(f"The second handler returns {new} now.")
