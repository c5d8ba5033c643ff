"""Wrong: one file too many."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rl TODO .; grep -rL TODO . | head -n 1"))
