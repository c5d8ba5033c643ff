"""Wrong: the names are right and their folders are not."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
found = trial.terminal("grep -rl TODO .").splitlines()
trial.final("\n".join(f"src/{path.rpartition('/')[2]}" for path in found))
