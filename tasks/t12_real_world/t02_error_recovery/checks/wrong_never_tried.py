"""Wrong: goes to the second file at once and makes a guess about the first."""

import json
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
found = json.loads(trial.read_file("config.json"))["services"][service]
trial.final(f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist.")
