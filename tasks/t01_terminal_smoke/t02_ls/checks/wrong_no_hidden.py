"""Lists without hidden entries."""

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = [line.split(None, 8) for line in trial.terminal("LC_ALL=C ls -l").splitlines()[1:]]
size, name = max((int(columns[4]), columns[8]) for columns in lines if columns[0].startswith("-"))
trial.final(", ".join(columns[8] for columns in lines) + f". Largest: {name}, {size} bytes.")
