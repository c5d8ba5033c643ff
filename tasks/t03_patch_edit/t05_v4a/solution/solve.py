"""Reads the file and inserts the line with a V4A patch whose context is the old first line."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")


def apply(patch):
    """Apply the hunks of a V4A patch of one file. Returns an error, or None when it was written."""
    name = re.search(r"^\*\*\* Update File: (.+)$", patch, re.MULTILINE).group(1)
    path = pathlib.Path(trial.workspace, name)
    text = path.read_text(encoding="utf-8")
    body = patch.split("*** Update File: ")[1].split("\n*** End Patch")[0]
    for hunk in re.split(r"^@@.*\n", body, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
        if text.count(old) != 1:
            return f"the context of a hunk was found {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8", newline="\n")
    return None


line = re.search(r"^    (x = \d+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I read the file.")
first = trial.read_file("target.py").splitlines()[0]
trial.message("I insert the line.")
patch = f"*** Begin Patch\n*** Update File: target.py\n@@\n+{line}\n {first}\n*** End Patch"
call = trial.call("patch", {"mode": "patch", "patch": patch})
error = apply(patch)
trial.result(call, error is None, {"success": error is None, "error": error})
trial.final(f"The first line of target.py is {line}.")
