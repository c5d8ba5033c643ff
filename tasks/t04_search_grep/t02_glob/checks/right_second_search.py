"""Another right way: a look around first, which shows all kinds of files, then one search a folder."""

from hemra_protocol import Trial

trial = Trial("right", "1")
trial.terminal("ls -R")
found = trial.terminal("grep -l 'def ' -- *.py; true").split()
for folder in trial.terminal("ls -d */").split():
    found += trial.terminal(f"grep -rl --include '*.py' '^def ' {folder}; true").split()
trial.final("Python files with functions: " + ", ".join(f"`{path}`" for path in found) + ".")
