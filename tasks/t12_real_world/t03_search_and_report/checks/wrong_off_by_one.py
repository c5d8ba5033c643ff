"""Wrong: lines are counted from zero."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
hits = [line.split(":", 2) for line in trial.terminal("grep -rnw TODO .").splitlines()]
trial.final("\n".join(f"{path}:{int(line) - 1}:{text}" for path, line, text in hits))
