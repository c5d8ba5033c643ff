"""Wrong: the method went into Fob, the class above."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
path = pathlib.Path(trial.workspace, "big_block.py")
value = re.search(r"number (\d+)", trial.instruction).group(1)
after = re.search(r"its method\s+`(\w+)`", trial.instruction).group(1)
text = path.read_text(encoding="utf-8")
start = text.index("class Foo:")
old = re.search(rf"    def {after}\(self\):\n        return \d+\n", text).group()


def patch(old, new, start=0):
    """Replace the first occurrence from `start` on, as a call of the tool `patch`."""
    call = trial.call("patch", {"path": "big_block.py", "old_string": old, "new_string": new})
    before = path.read_text(encoding="utf-8")
    path.write_text(before[:start] + before[start:].replace(old, new, 1), encoding="utf-8")
    trial.result(call, True, {"success": True})


patch(old, f"{old}\n    def bar(self):\n        return {value}\n")
trial.final(f"Foo has the method bar now; it returns {value}.")
