"""Wrong: lines with the letters alone were counted too."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = int(trial.terminal("grep -rh --include='*.py' def . | wc -l"))
files = int(trial.terminal("grep -rl --include='*.py' def . | wc -l"))
trial.final(f"lines: {lines}, files: {files}")
