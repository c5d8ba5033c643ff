"""Wrong: files of every kind were counted."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = int(trial.terminal("grep -rh 'def ' . | wc -l"))
files = int(trial.terminal("grep -rl 'def ' . | wc -l"))
trial.final(f"lines: {lines}, files: {files}")
