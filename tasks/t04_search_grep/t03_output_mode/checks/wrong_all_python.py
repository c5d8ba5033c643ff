"""Wrong: every Python file was counted, with or without such a line."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines = int(trial.terminal("grep -rh --include='*.py' 'def ' . | wc -l"))
files = int(trial.terminal("find . -name '*.py' | wc -l"))
trial.final(f"lines: {lines}, files: {files}")
