"""Reads the file and patches the method in, with the following method of the right class as context."""

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


value = re.search(r"number (\d+)", trial.instruction).group(1)
after = re.search(r"its method\s+`(\w+)`", trial.instruction).group(1)
trial.message("I read the file.")
source = trial.read_file("big_block.py")
trial.message("I put the method into Foo, in one edit that begins at the head of the class.")
head = source[source.index("class Foo:") :]
old = re.match(rf"(?s).*?    def {after}\(self\):\n        return \d+\n", head).group()
patch("big_block.py", old, f"{old}\n    def bar(self):\n        return {value}\n")
trial.message("I try it.")
trial.terminal("python3 -B -c 'from big_block import Foo; print(Foo().bar())'")
trial.final(f"Foo has the method bar now; it returns {value}.")
