"""Wrong: everything is right but the calls, which are on record as failed."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
file = pathlib.Path(trial.workspace, "locked.txt")
file.chmod(0o600)
text = file.read_text(encoding="utf-8")
call = trial.call("terminal", {"command": "chmod 600 locked.txt; cat locked.txt"})
trial.result(call, False, {"output": text, "exit_code": 1})
trial.final("The access code is " + re.search(r"access code: (\S+)", text)[1] + ".")
