"""Wrong: every file is named."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("find . -type f"))
