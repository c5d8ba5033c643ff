"""Wrong: other spellings are listed too."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rniw TODO ."))
