"""Another right way: looks for the file, and picks the values out of the other."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
service, missing = re.search(r"`(\w+)` reads its configuration\s+from (\S+),", trial.instruction).groups()
trial.terminal(f"ls -l {missing}; ls")
pick = f"import json; s = json.load(open('config.json'))['services']['{service}']; "
printed = trial.terminal(f"python3 -c \"{pick}print(s['listen']['port'], s['region'])\"").split()
trial.final(f"{service} listens on port {printed[0]} in {printed[1]}; there is no {missing}.")
