"""Knows everything from one read of the whole, and the paged reads all fail."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
trial.terminal("cat big_file.py; exit 1")
text = pathlib.Path(trial.workspace, "big_file.py").read_text(encoding="utf-8")
for offset in (1, 51, 101):
    call = trial.call("read_file", {"path": "big_file.py", "offset": offset, "limit": 50})
    trial.result(call, False, {"error": "timed out"})
total = len(text.splitlines())
found = ", ".join(re.findall(r"# CHECKPOINT: (\S+)", text))
trial.final(f"50, 50 and {total - 100} lines, {total} in all. Checkpoints: {found}.")
