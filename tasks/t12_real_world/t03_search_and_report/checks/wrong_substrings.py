"""Wrong: longer words that hold the four letters are listed too."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rn TODO ."))
