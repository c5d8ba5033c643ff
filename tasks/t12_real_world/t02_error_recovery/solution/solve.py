"""Tries the first file, is told that it is not there, and reads the other one."""

import json
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
trial.message("I read the first file.")
try:
    text = trial.read_file(missing)
except OSError:
    trial.message("It is not there. I read the other one.")
    text = trial.read_file("config.json")
found = json.loads(text)["services"][service]
trial.final(f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist.")
