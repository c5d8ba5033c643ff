"""Wrong: the names of the files were searched."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("find . -name '*TODO*'"))
