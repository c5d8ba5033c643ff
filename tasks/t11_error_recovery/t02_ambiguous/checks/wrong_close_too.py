"""Wrong: the method behind the handler was changed as well."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

number = int(trial.terminal(f"grep -n 'return \"{old}\"' multi.py").splitlines()[1].partition(":")[0])
trial.terminal(f"sed -i '{number},{number + 4}s/{old}/{new}/' multi.py")
trial.final(f"The second handler returns {new} now.")
