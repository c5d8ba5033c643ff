"""Wrong: both reads are on record as failed, and the answer is right all the same."""

import json
import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
text = pathlib.Path(trial.workspace, "config.json").read_text(encoding="utf-8")
for path in (missing, "config.json"):
    call = trial.call("read_file", {"path": path})
    trial.result(call, False, {"error": "not found", "content": text})
found = json.loads(text)["services"][service]
trial.final(f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist.")
