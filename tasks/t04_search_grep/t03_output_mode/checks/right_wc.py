"""Another right way: two pipelines that end in wc."""

from hemra_protocol import Trial

trial = Trial("right", "1")
lines = int(trial.terminal("grep -rh --include='*.py' 'def ' . | wc -l"))
files = int(trial.terminal("find . -name '*.py' -exec grep -l 'def ' {} + | wc -l"))
trial.final(f"There are {lines} such lines, and {files} of the Python files have at least one.")
