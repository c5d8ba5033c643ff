"""Wrong: the values are said to be from the file that is not there."""

import json
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
printed = trial.terminal(f"cat {missing} 2>/dev/null || cat config.json")
found = json.loads(printed)["services"][service]
trial.final(f"{missing} exists. Port {found['listen']['port']}, region {found['region']}.")
