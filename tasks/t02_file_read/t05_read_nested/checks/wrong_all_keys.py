"""Reports the key of every file of that name."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("grep -rh BUILD_KEY .")
trial.final("Keys: " + ", ".join(re.findall(r'"([^"]+)"', printed)))
