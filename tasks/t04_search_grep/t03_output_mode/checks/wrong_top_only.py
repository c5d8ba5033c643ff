"""Wrong: only the top of the tree was counted."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
shown = trial.terminal("grep -c 'def ' -- *.py").splitlines()
counts = [int(line.rpartition(":")[2]) for line in shown if not line.endswith(":0")]
trial.final(f"lines: {sum(counts)}, files: {len(counts)}")
