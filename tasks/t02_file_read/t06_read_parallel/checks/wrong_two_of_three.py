"""Reads two files only."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
calls = {name: trial.call("read_file", {"path": name}) for name in ("a.py", "b.py")}
codes = []
for name, call in calls.items():
    text = pathlib.Path(trial.workspace, name).read_text(encoding="utf-8")
    trial.result(call, True, {"content": text})
    codes.append(re.search(r'CODE = "([^"]+)"', text).group(1))
trial.final(f"a.py: {codes[0]}, b.py: {codes[1]}, c.py: {codes[1]}")
