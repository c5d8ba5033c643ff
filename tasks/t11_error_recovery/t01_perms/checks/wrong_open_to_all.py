"""Wrong: the file is left readable for everybody."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
text = trial.terminal("chmod 644 locked.txt; cat locked.txt")
trial.final("The access code is " + re.search(r"access code: (\S+)", text)[1] + ".")
