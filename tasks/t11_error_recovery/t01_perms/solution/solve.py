"""Is refused, looks why, gives the owner the permission back, and reads."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I read the file.")
try:
    trial.read_file("locked.txt")
except PermissionError:
    trial.message("It cannot be read. Whose is it?")
trial.terminal("ls -l locked.txt && id -un")
trial.message("It is mine, so I may change its mode.")
trial.terminal("chmod 600 locked.txt")
text = trial.read_file("locked.txt")
trial.final("The access code is " + re.search(r"access code: (\S+)", text)[1] + ".")
