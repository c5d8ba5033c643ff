"""Wrong: all three were changed."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

trial.terminal(f'sed -i \'s/return "{old}"/return "{new}"/\' multi.py')
trial.final(f"The second handler returns {new} now.")
