"""Wrong: the first handler was changed."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

trial.terminal(f'sed -i \'0,/return "{old}"/s/return "{old}"/return "{new}"/\' multi.py')
trial.final(f"The second handler returns {new} now.")
