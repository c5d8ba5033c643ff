"""Reads the three files in one turn, as three calls that are all made before the first result."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I read the three files in parallel.")
calls = {name: trial.call("read_file", {"path": name}) for name in ("a.py", "b.py", "c.py")}
codes = []
for name, call in calls.items():
    text = pathlib.Path(trial.workspace, name).read_text(encoding="utf-8")
    trial.result(call, True, {"content": text})
    code = re.search(r'CODE = "([^"]+)"', text).group(1)
    codes.append(f"{name}: {code}")
trial.final("\n".join(codes))
