"""Wrong: other spellings were counted too."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rliE 'to.?do' ."))
