"""Reports the right digits with one more behind them."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
one_liner = re.search(r"^    (python3 -c .*)$", trial.instruction, re.MULTILINE).group(1)
name = re.search(r"whose `name` is `(\w+)`", trial.instruction).group(1)
pick = (
    "import json, sys; print(*(r['reading']['x'] for r in json.load(sys.stdin)['records'] "
    f"if r['name'] == '{name}' and r['state'] == 'current'))"
)
trial.final("x = " + trial.terminal(f'{one_liner} 2>/dev/null | python3 -c "{pick}"').strip() + "0")
