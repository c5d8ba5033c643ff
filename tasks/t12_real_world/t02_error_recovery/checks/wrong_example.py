"""Wrong: the values of the example."""

import json
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
printed = trial.terminal(f"cat {missing} 2>/dev/null || cat config.example.json")
found = json.loads(printed)["services"][service]
trial.final(f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist.")
