"""Pipes the one-liner into a second one that picks the value out of the document."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
one_liner = re.search(r"^    (python3 -c .*)$", trial.instruction, re.MULTILINE).group(1)
name = re.search(r"whose `name` is `(\w+)`", trial.instruction).group(1)
pick = (
    "import json, sys; print(*(r['reading']['x'] for r in json.load(sys.stdin)['records'] "
    f"if r['name'] == '{name}' and r['state'] == 'current'))"
)
trial.message("I pipe the document into a parser.")
printed = trial.terminal(f'{one_liner} 2>/dev/null | python3 -c "{pick}"')
trial.final(f"The reading.x of the current record {name} is {printed.strip()}.")
