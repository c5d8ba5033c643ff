"""Another right way: a first patch is ambiguous and refused; the second one is the only edit. Docstring added."""

import json
import pathlib
import re

from hemra_protocol import Trial

trial = Trial("right", "1")
path = pathlib.Path(trial.workspace, "big_block.py")
value = re.search(r"number (\d+)", trial.instruction).group(1)
after = re.search(r"its method\s+`(\w+)`", trial.instruction).group(1)


def patch(old, new):
    """Replace the only occurrence of a text, answering as Hermes does: JSON in a text, and nothing else."""
    arguments = {"mode": "replace", "path": "big_block.py", "old_string": old, "new_string": new}
    call = trial.call("patch", json.dumps(arguments))
    before = path.read_text(encoding="utf-8")
    if before.count(old) == 1:
        path.write_text(before.replace(old, new), encoding="utf-8")
        trial.result(call, None, json.dumps({"success": True, "files_modified": ["big_block.py"]}))
    else:
        trial.result(call, None, json.dumps({"success": False, "error": f"{before.count(old)} matches"}))


old = re.search(rf"    def {after}\(self\):\n        return \d+\n", path.read_text(encoding="utf-8")).group()
new = f'{old}\n    def bar(self):\n        """The number of this class."""\n        return {value}\n'
trial.message("I try it without more context.")
patch(old, new)
trial.message("That is ambiguous, so I take everything from the head of the class on.")
text = path.read_text(encoding="utf-8")
start = text.index("class Foo:")
before = text[start : text.index(old, start)]
patch(before + old, before + new)
trial.message("I look at it.")
trial.terminal(f"grep -n 'def bar' big_block.py 2>&1; grep -c 'return {value}' big_block.py")
trial.final("Done.")
