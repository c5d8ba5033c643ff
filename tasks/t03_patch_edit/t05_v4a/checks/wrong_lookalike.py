"""Wrong: a name that ends in x got the number."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
path = pathlib.Path(trial.workspace, "target.py")
line = re.search(r"^    (x = \d+)$", trial.instruction, re.MULTILINE).group(1)
lines = path.read_text(encoding="utf-8").splitlines()
first, last = lines[0], lines[-1]


def v4a(hunk, *, ok=True):
    """A V4A patch, as a call whose result is given; what it really did is written by the caller."""
    patch = f"*** Begin Patch\n*** Update File: target.py\n@@\n{hunk}\n*** End Patch"
    call = trial.call("patch", {"mode": "patch", "patch": patch})
    trial.result(call, ok, {"success": True} if ok else {"error": "context not found"})


path.write_text("\n".join([f"max_{line}", *lines]) + "\n", encoding="utf-8")
v4a(f"+max_{line}\n {first}")
trial.final(f"The first line of target.py is {line}.")
