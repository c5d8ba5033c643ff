"""Wrong: the case was ignored."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rli todo ."))
