"""Another right way: Python, with the mode set wider at first."""

from hemra_protocol import Trial

trial = Trial("right", "1")
trial.terminal("chmod 644 locked.txt")
code = trial.terminal("sed -n 's/^access code: //p' locked.txt")
trial.terminal("python3 -c 'import os; os.chmod(\"locked.txt\", 0o600)'")
trial.final(code)
