"""Lists with find in place of ls."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("find . -mindepth 1 -maxdepth 1 -printf '%y %s %f\\n'")
entries = [line.split(" ", 2) for line in printed.splitlines()]
size, name = max((int(size), name) for kind, size, name in entries if kind == "f")
trial.final(", ".join(name for _, _, name in entries) + f". Largest: {name}, {size:,} bytes.")
