"""Captures the output in a file, prints it, and parses what it saw."""

import json
import re

from hemra_protocol import Trial

trial = Trial("right", "1")
one_liner = re.search(r"^    (python3 -c .*)$", trial.instruction, re.MULTILINE).group(1)
name = re.search(r"whose `name` is `(\w+)`", trial.instruction).group(1)
trial.terminal(f"{one_liner} > document.json 2> noise.txt")
document = json.loads(trial.terminal("cat document.json"))
found = [r for r in document["records"] if (r["name"], r["state"]) == (name, "current")]
trial.final(f"**{found[0]['reading']['x']:,}**")
