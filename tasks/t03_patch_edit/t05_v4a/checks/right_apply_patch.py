"""Another right way: `apply_patch` with one text as its argument; a first patch with wrong context is refused."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("right", "1")


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


def apply_patch(context):
    """Insert the line in front of this line."""
    body = f"*** Update File: target.py\n@@\n-{context}\n+{line}\n+{context}"
    patch = f"*** Begin Patch\n{body}\n*** End Patch\n"
    call = trial.call("apply_patch", patch)
    error = apply(patch)
    trial.result(call, error is None, error or "Success. Updated the following files:\nM target.py\n")


line = re.search(r"^    (x = \d+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I try with a line that I expect there.")
apply_patch("import os")
trial.message("I look at the file first.")
first = trial.terminal("head -n 1 target.py").rstrip("\n")
apply_patch(first)
trial.final("Done.")
