"""Another right way: one command that falls back, and a table."""

import json
import re

from hemra_protocol import Trial

trial = Trial("right", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
printed = trial.terminal(f"cat {missing} 2>/dev/null || cat config.json")
found = json.loads(printed)["services"][service]
trial.final(
    f"`{missing}`: **not found**, so `config.json` is used.\n\n| port | region |\n|---|---|\n"
    f"| {found['listen']['port']} | `{found['region']}` |"
)
