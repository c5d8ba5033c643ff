"""Wrong: the numbers are right, but the lines were printed and counted by hand."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
shown = trial.terminal("grep -rn --include='*.py' 'def ' .").splitlines()
trial.message(f"I count them: {len(shown)}.")
files = {line.partition(":")[0] for line in shown}
trial.terminal(f"echo {len(shown)}")
trial.final(f"lines: {len(shown)}, files: {len(files)}")
