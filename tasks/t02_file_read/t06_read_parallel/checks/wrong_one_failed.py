"""One of the three reads fails, and its code is told all the same."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
codes = []
for name in ("a.py", "b.py", "c.py"):
    call = trial.call("read_file", {"path": name})
    text = pathlib.Path(trial.workspace, name).read_text(encoding="utf-8")
    trial.result(call, name != "c.py", {"content": text})
    codes.append(name + " " + re.search(r'CODE = "([^"]+)"', text).group(1))
trial.final(", ".join(codes))
