"""Wrong: the values of the first service in the file."""

import json
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
missing = re.search(r"configuration\s+from (\S+),", trial.instruction)[1]
printed = trial.terminal(f"cat {missing} 2>/dev/null || cat config.json")
found = next(iter(json.loads(printed)["services"].values()))
trial.final(f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist.")
