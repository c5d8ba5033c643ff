"""Wrong: of each file only the first hit."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
hits = trial.terminal("grep -rnw -m 1 TODO .").splitlines()
trial.final("\n".join(hits[:-1]))
